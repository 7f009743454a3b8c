// Details of the one call that a report is about: its place in the model's source, its arguments, and the
// line of a device fault.
#pragma once

#include <vector>

#include "triage/gather/kept_packages.hpp"
#include "triage/gather/recorded_calls.hpp"
#include "triage/gather/recorded_processes.hpp"
#include "triage/judge/evidence.hpp"

namespace aoti_dbg {

/// Returns the packages kept for the process's models.
KeptPackages packages_of(const RecordedProcess& process);

/// `call` is the report's copy of `about`, and its arguments go into the report.
void add_call_facts(const RecordedProcess& process, const RecordedCalls& calls, const ring::Call& about,
                    CrashCall& call, Evidence& evidence);

/// Combines both: measurements have better values, and the source has the last writers.
void take_measured(std::vector<CrashArgument> measured, std::vector<CrashArgument>& arguments);

/// Sets the model's name from the events, because the model may have no package.
void add_model_details(const RecordedEvents& events, CrashCall& call);

}  // namespace aoti_dbg
