// What is told of the one call that a report is about: its place in its model's source, its arguments, and,
// of a fault on a device, which of them it is about.
#pragma once

#include <vector>

#include "triage/gather/kept_packages.hpp"
#include "triage/gather/recorded_calls.hpp"
#include "triage/gather/recorded_processes.hpp"
#include "triage/judge/crash_report.hpp"

namespace aoti_dbg {

/// Those that were kept of the process's models.
KeptPackages packages_of(const RecordedProcess& process);

/// `told` is `about` in the report, which gets its arguments.
void add_call_facts(const RecordedProcess& process, const RecordedCalls& calls, const ring::Call& about,
                    CrashCall& told, CrashReport& report);

/// What was measured says more of the values, and the source of who wrote them.
void take_measured(std::vector<CrashArgument> measured, std::vector<CrashArgument>& arguments);

/// As the events name the call's model, which may have no package.
void add_model_details(const RecordedEvents& events, CrashCall& call);

/// Among the arguments, which are those of the launch if it was that one.
void place_fault(CrashReport& report);

}  // namespace aoti_dbg
