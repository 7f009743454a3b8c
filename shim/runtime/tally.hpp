// This process's part in the tally of `aoti-dbg run` (serializer/tally_format.hpp). Without that command,
// none of it has an effect.
#pragma once

#include <cstdint>
#include <optional>

#include "config/pattern.hpp"

namespace aoti_dbg {

/// Maps the page that AOTI_DBG_TALLY names and counts this process. Call it once, at load.
void join_tally();

enum class TallyCount { partaking, models, recording, left_out, findings, idle };
void count_in_tally(TallyCount what);

/// Records that a context failed with `error` in a process without a ring. The first error of a run stays.
void note_error_in_tally(std::int32_t error);

/// Returns true once for all processes of a run.
bool first_to_complain();

/// Returns true if the command counts this process and will inspect its output.
bool is_tallied();

/// Returns the process that `aoti-dbg run` started.
std::optional<Origin> tallied_start();

/// Returns true only for the first process of a run that asks. That process writes directly to the output
/// folder. Returns false without a tally.
bool claim_out_folder();

}  // namespace aoti_dbg
