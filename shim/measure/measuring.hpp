// Level 2 and the search for NaN in a launching thread. Measures the tensors of a call before and after it.
// It costs nothing if no option requests that.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "config/options.hpp"
#include "serializer/measured_event.hpp"
#include "shim/calls/passage.hpp"

namespace aoti_dbg {

class MeasuredModel;
struct Name;
struct OpenCall;
struct ThreadState;

/// Measures and reports the tensors of a call, with its scalars. `result` is what the call returned.
void measure_call(ThreadState& state, const MeasuredModel& model, const OpenCall& call, When when,
                  const TensorRequest& requested, std::int32_t result);

/// Reports only the name, in order between measured calls.
void report_name(ThreadState& state, const OpenCall& call, When when);

/// Measures the inputs or the outputs of a run. The passage is that of AOTInductorModelContainerRun.
void measure_ends(ThreadState& state, const MeasuredModel& model, const OpenCall& run, EventSide side,
                  const TensorRequest& requested);

/// Measures what still waits at the end of a run.
void end_measured_run(ThreadState& state);

/// Waits until the results of a run are written, with a deadline. Returns the run's first finding as a
/// sentence, once.
std::optional<std::string> take_finding(ThreadState& state, const OpenCall& run);

/// Forgets measurements, because the model changed memory in a way that was not inspected.
void forget_measured(ThreadState& state);

}  // namespace aoti_dbg
