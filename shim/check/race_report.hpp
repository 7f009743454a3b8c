// The finding of a race, and its texts.
#pragma once

#include "shim/check/stream_order.hpp"

namespace aoti_dbg::races {

/// Reports the later of two calls, because its argument may be wrong. No lock may be held.
void report_race(const Toucher& later, StreamOrder::Use later_use, const StreamOrder::Conflict& conflict);

}  // namespace aoti_dbg::races
