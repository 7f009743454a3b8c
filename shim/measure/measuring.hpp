// Levels 1 and 2 in a launching thread: which call site a call is, what its tensors are, and that they are
// saved or measured before the call and after it. Costs nothing where no option asks for either.
#pragma once

#include <cstdint>

#include "config/options.hpp"
#include "serializer/measured_event.hpp"
#include "shim/calls/passage.hpp"
#include "shim/runtime/shim_api.hpp"

namespace aoti_dbg {

class MeasuredModel;
struct Name;
struct OpenCall;
struct ThreadState;

/// The model asked for the address of a tensor, which the next kernel may get. `state` is null where this
/// thread has recorded nothing yet.
void note_pointer(ThreadState* state, MeasuredModel& model, TensorHandle handle);

/// The site of a model's own call in a run, kNone if none is known. To be asked for every such call, selected
/// or not, since sites are told by order.
std::uint32_t match_site(ThreadState& state, const MeasuredModel& model, std::uint16_t number,
                         std::uint32_t run, const Name& name, const Passage& passage);

/// Whether the arguments of such a call can be told; of any other only the name is printed.
bool has_arguments(const Passage& passage);

/// Saves the tensors of a call, measures and reports them, with its scalars. `result` is what the call
/// returned.
void measure_call(ThreadState& state, const MeasuredModel& model, const OpenCall& call, When when,
                  const TensorRequest& wanted, std::int32_t result);

/// Reports the name alone, in its place between calls that are measured.
void report_name(ThreadState& state, const OpenCall& call, When when);

/// What a run is given (EventSide::inputs), or what it gives (outputs). The passage is that of
/// AOTInductorModelContainerRun.
void measure_ends(ThreadState& state, const MeasuredModel& model, const OpenCall& run, EventSide side,
                  const TensorRequest& wanted);

/// A run is over: what still waits is measured now. With AOTI_DBG_ON_FINDING=raise this waits for the device,
/// and the run returns a failure where something was found in it.
void end_measured_run(ThreadState& state, const OpenCall& run);
/// The same for the saved tensors of a run that an exception has left.
void end_unwound_run(ThreadState& state, const OpenCall& run);

/// The model has done something to memory that nobody looked at.
void forget_measured(ThreadState& state);

}  // namespace aoti_dbg
