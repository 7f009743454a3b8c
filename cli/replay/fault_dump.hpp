// Reads the driver's core dump of a faulted replay. The driver writes it to a temporary folder, which is
// removed afterwards.
#pragma once

#include <string>
#include <vector>

#include "triage/judge/evidence.hpp"

namespace aoti_dbg::cli {

struct DumpedFault {
    std::string lines;  // whole ones, each indented; empty without a dump
    std::string place;  // the line of the kernel's source, file:40; empty if it is unknown
};

class FaultDump {
  public:
    /// Requests a core dump. Call it before the driver starts.
    FaultDump();
    FaultDump(const FaultDump&) = delete;
    FaultDump& operator=(const FaultDump&) = delete;
    ~FaultDump();

    /// `arguments` has the kernel's tensors.
    [[nodiscard]] DumpedFault read(const std::vector<CrashArgument>& arguments) const;

  private:
    std::string folder_;  // empty if it could not be created
};

/// True if a debugger is attached to this process.
bool is_debugged();

/// True if a debugger is attached, or if a tool such as compute-sanitizer or ncu runs this process.
bool is_watched();

/// Stops in the debugger, with the kernel's code loaded.
void stop_for_debugger();

}  // namespace aoti_dbg::cli
