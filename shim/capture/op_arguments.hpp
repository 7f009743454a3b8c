// The arguments of an op as a captured call has them: all of them in order, with exact values. Measuring
// shows the same arguments, but shortens their values and skips absent ones.
#pragma once

#include <string>
#include <vector>

#include "serializer/launch_record.hpp"
#include "shim/calls/passage.hpp"
#include "shim/runtime/shim_table.hpp"
#include "shim/runtime/stub_frame.hpp"
#include "shim/tensors/arguments.hpp"

namespace aoti_dbg {

/// Writes a number that Python reads back as the same float.
std::string python_real(double value);

/// Returns the arguments of a shim function. `found` has its tensors, as shim_arguments() returns them before
/// the call. `plan` may be null.
std::vector<LaunchArgument> arguments_of_shim(const ShimSignature& shim, const StubFrame& frame,
                                              const SitePlan* plan, const PlainList<CallArgument>& found);

/// Returns the arguments of an op that the proxy executor calls.
std::vector<LaunchArgument> arguments_of_proxy(const StubFrame& frame, const SitePlan& plan);

/// Returns the arguments of a call in a Python wrapper. $0 in its statement is the first of them.
std::vector<LaunchArgument> arguments_of_python(const PassedValues& values, const SitePlan& plan);

}  // namespace aoti_dbg
