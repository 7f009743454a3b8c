// Prints the line of level 3, which has the name of a call.
#pragma once

#include "shim/calls/passage.hpp"

namespace aoti_dbg {

struct OpenCall;
struct ThreadState;

/// Prints the line of level 3. If calls are measured, the line is queued so that it appears in order.
void show_name(ThreadState& state, OpenCall& call, When when);

}  // namespace aoti_dbg
