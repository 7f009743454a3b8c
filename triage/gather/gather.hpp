// Reads the files that a run left. It picks the process to report, and takes the facts from its ring, its
// events and the kept sources. It must not write files: cli/report does that.
#pragma once

#include "triage/judge/ended_run.hpp"
#include "triage/judge/evidence.hpp"

namespace aoti_dbg {

/// The run may also be still in progress.
Evidence gather(const EndedRun& run);

}  // namespace aoti_dbg
