// Level 3: the line with the name of a call.
#pragma once

#include "shim/calls/passage.hpp"

namespace aoti_dbg {

struct OpenCall;
struct ThreadState;

/// Prints the line of level 3, or has it printed in its place between calls that are measured.
void show_name(ThreadState& state, const OpenCall& call, When when);

}  // namespace aoti_dbg
