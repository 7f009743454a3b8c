// Levels 1 and 2 in a launching thread. Finds the site and the tensors of a call, and saves or measures them
// before and after it. It costs nothing if no option requests that.
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

/// Records that the model fetched the address of a tensor, which the next kernel may receive. `state` is null
/// if this thread has recorded nothing yet.
void note_pointer(ThreadState* state, MeasuredModel& model, TensorHandle handle);

/// Returns the site of a model's own call in a run, or kNone if it is unknown. Call it for every such call,
/// selected or not, because the order of calls determines the sites.
std::uint32_t match_site(ThreadState& state, const MeasuredModel& model, std::uint16_t number,
                         std::uint32_t run, const Name& name, const Passage& passage);

/// True if the arguments of the model's own call can be decoded. For other calls only the name is printed.
bool has_arguments(const Passage& passage);

/// Saves, measures and reports the tensors of a call, with its scalars. `result` is what the call returned.
void measure_call(ThreadState& state, const MeasuredModel& model, const OpenCall& call, When when,
                  const TensorRequest& wanted, std::int32_t result);

/// Reports only the name, in order between measured calls.
void report_name(ThreadState& state, const OpenCall& call, When when);

/// Measures the inputs or the outputs of a run. The passage is that of AOTInductorModelContainerRun.
void measure_ends(ThreadState& state, const MeasuredModel& model, const OpenCall& run, EventSide side,
                  const TensorRequest& wanted);

/// Ends a run and measures what still waits. With AOTI_DBG_ON_FINDING=raise it waits for the device, and
/// fails the run if it had a finding.
void end_measured_run(ThreadState& state, const OpenCall& run);
/// Ends the saved tensors of a run that an exception unwound.
void end_unwound_run(ThreadState& state, const OpenCall& run);

/// Forgets measurements, because the model changed memory in a way that was not inspected.
void forget_measured(ThreadState& state);

}  // namespace aoti_dbg
