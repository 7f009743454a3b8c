// What a report says the process ran with: versions of torch, Triton and the driver, the devices, and the
// packages of its models. What is not there is left out.
#pragma once

#include "triage/gather/recorded_processes.hpp"
#include "triage/gather/triage.hpp"

namespace aoti_dbg {

/// `told` is the process that the report is about; null where there is none. The fault on a device is in the
/// report by then.
void add_environment(const RecordedProcess* told, const EndedRun& run, CrashReport& report);

}  // namespace aoti_dbg
