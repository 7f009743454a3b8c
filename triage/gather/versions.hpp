// The environment in a report: versions of torch, Triton and the driver, the devices, and the packages of the
// models. It omits what is missing.
#pragma once

#include "triage/gather/recorded_processes.hpp"
#include "triage/judge/ended_run.hpp"

namespace aoti_dbg {

/// `process` is the process that the report is about; null if there is none. The report must already have its
/// device fault.
void add_versions(const RecordedProcess* process, const EndedRun& run, Evidence& evidence);

}  // namespace aoti_dbg
