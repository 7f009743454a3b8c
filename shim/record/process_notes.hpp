// Writes process.jsonl (serializer/process_file): what this process is, for whoever reports its end. A line
// is one write; where one fails there is no file, or none of that device, and the report says less. Must not
// be called on the way of a launch, but where something is met for the first time.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <string>

#include "serializer/process_file.hpp"

namespace aoti_dbg {

/// Its rank, command, working folder and telling variables.
ProcessFacts own_process_facts(pid_t pid);

class ProcessNotes {
  public:
    /// Makes the file, 0600; what another process left by that name is replaced.
    ProcessNotes(std::string path, const ProcessFacts& facts);

    /// Whether that device is not noted yet; from then on it is. Devices beyond the 64th never are.
    [[nodiscard]] bool is_new(std::uint32_t device);
    void add(const DeviceFacts& device) const;

  private:
    std::string path_;
    std::atomic<std::uint64_t> devices_{0};
};

}  // namespace aoti_dbg
