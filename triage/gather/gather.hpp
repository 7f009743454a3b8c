// Reads what a run left: it picks the process to report, and takes what its ring, its events and the kept
// sources say. It must not write; cli/report does that.
#pragma once

#include "triage/judge/ended_run.hpp"
#include "triage/judge/evidence.hpp"

namespace aoti_dbg {

/// The run may also be still in progress.
Evidence gather(const EndedRun& run);

}  // namespace aoti_dbg
