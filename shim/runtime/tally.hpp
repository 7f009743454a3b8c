// This process's part in the tally of `aoti-dbg run` (serializer/tally_format.hpp). Without that command all
// of it does nothing.
#pragma once

#include <cstdint>
#include <optional>

#include "config/pattern.hpp"

namespace aoti_dbg {

/// Maps the page that AOTI_DBG_TALLY names and counts this process in. Once, at load.
void join_tally();

enum class TallyCount { partaking, models, recording, left_out, findings, idle };
void count_in_tally(TallyCount what);

/// A context has failed with that, and the process has nowhere to put it. The first of a run stays.
void note_error_in_tally(std::int32_t error);

/// True once for all processes of a run.
bool first_to_complain();

/// Whether the command counts with this process, and will look at what became of it.
bool is_tallied();

/// The process that `aoti-dbg run` started.
std::optional<Origin> tallied_start();

/// True for one process of a run: the first that asks. It writes to the output folder itself. Without a tally
/// false.
bool claim_out_folder();

}  // namespace aoti_dbg
