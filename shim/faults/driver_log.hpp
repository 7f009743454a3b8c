// Keeps what the driver logs about failed calls, for the report (CUDA 12.9 and later). The driver calls back
// on any thread, perhaps with its locks held. So the callback must not call the driver, wait, allocate or
// throw. It ignores lines about the library's own driver calls.
#pragma once

#include <atomic>
#include <string>
#include <utility>

#include "shim/calls/file_part.hpp"
#include "shim/calls/session_part.hpp"
#include "shim/record/driver_log_file.hpp"

namespace aoti_dbg {

class DriverLogPart final : public SessionPart {
  public:
    explicit DriverLogPart(std::string path) : file_(std::move(path), "what the driver logged") {}

    /// Registers the callback. Only the first call does.
    void start();

    /// Keeps no more lines. The callback stays registered, because at exit the driver may be gone or locked.
    void finish() override;
    void close(std::span<const NamedCount> counts) override;

  private:
    FilePart<DriverLogFile> file_;
    std::atomic<bool> is_started_{false};
};

void start_driver_log(Session& session);

/// Call this after each successful cuInit. The first one in a process counts.
void watch_driver_log();

}  // namespace aoti_dbg
