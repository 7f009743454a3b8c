// Captures calls of ops for `aoti-dbg replay --python`.
#pragma once

#include "serializer/launch_record.hpp"

namespace aoti_dbg {

struct CallTensors;
struct OpenCall;
struct ThreadState;

/// Does nothing unless the call is an op that the options select.
void capture_op(ThreadState& state, const OpenCall& call);

/// Adds the tensors of a call, also those without elements, which have no address.
void take_tensors(const CallTensors& own, LaunchRecord& to);

/// Adds what the source says about the arguments of a Triton kernel's launch. `parameters` has the layout
/// that cuLaunchKernel takes.
void take_arguments(const CallTensors& own, const OpenCall& call, void* const* parameters, LaunchRecord& to);

}  // namespace aoti_dbg
