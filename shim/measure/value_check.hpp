// The search for NaN and Inf without statistics, in a launching thread. It measures what calls write, after
// they wrote it. What a call reads was measured after its writer, so both sides of a call are reported
// together.
#pragma once

#include <cstdint>

#include "shim/calls/passage.hpp"

namespace aoti_dbg {

class MeasuredModel;
struct OpenCall;
struct ThreadState;

/// Returns false if this cannot be done for the call, because the source does not describe it.
bool check_before(ThreadState& state, const MeasuredModel& model, const OpenCall& call,
                  const TensorRequest& requested);
/// Returns false if check_before() did not return true.
bool check_after(ThreadState& state, const MeasuredModel& model, const OpenCall& call,
                 const TensorRequest& requested, std::int32_t result);

}  // namespace aoti_dbg
