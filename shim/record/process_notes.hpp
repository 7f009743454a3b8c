// Writes process.jsonl (serializer/process_file): facts about this process for its report. Each line takes
// one write. If a write fails, the file or the device's line is missing, and the report says less. Must not
// be called on the launch path, except at the first sight of something.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <string>

#include "serializer/process_file.hpp"

namespace aoti_dbg {

/// Returns the process's rank, command, working directory and relevant variables.
ProcessFacts own_process_facts(pid_t pid);

class ProcessNotes {
  public:
    /// Creates the file (0600). It replaces a file of that name from another process.
    ProcessNotes(std::string path, const ProcessFacts& facts);

    /// Returns true once for each device, which then counts as noted. Returns false for devices beyond the
    /// 64th.
    [[nodiscard]] bool is_new(std::uint32_t device);
    void add(const DeviceFacts& device) const;

  private:
    std::string path_;
    std::atomic<std::uint64_t> devices_{0};
};

}  // namespace aoti_dbg
