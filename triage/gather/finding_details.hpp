// Details of a finding that a report is about: its call in the form of a crash call, with its source, its
// arguments and the calls before it.
#pragma once

#include "triage/gather/recorded_processes.hpp"
#include "triage/judge/ended_run.hpp"
#include "triage/judge/evidence.hpp"

namespace aoti_dbg {

/// `process` is the one with the report's finding; null if nothing else was recorded of it. The finding
/// itself supplies what the ring has overwritten.
void add_finding_details(const EndedRun& run, const RecordedProcess* process, Evidence& evidence);

}  // namespace aoti_dbg
