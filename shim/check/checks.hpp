// AOTI_DBG_CHECK=args in the program's threads: checks before and after runs and calls. Callers must test
// checking() first.
#pragma once

#include <cstdint>

namespace aoti_dbg {

class MeasuredModel;
class Session;
struct OpenCall;
struct StubFrame;
struct ThreadState;

/// Checks a run before it starts. `model` is null if its tensors cannot be inspected.
void check_run(ThreadState& state, MeasuredModel* model, const OpenCall& run);

/// Checks a kernel of the model before its launch.
void check_launch(ThreadState& state, const MeasuredModel& model, const OpenCall& call);

/// Checks a view before the model creates it. `frame` is that of a call of aoti_torch__reinterpret_tensor.
void check_view(ThreadState& state, const MeasuredModel& model, const StubFrame& frame);

/// Reports the thread's innermost call, which an exception unwound. `frame` is the current stack position.
void check_unwound(ThreadState& state, std::uintptr_t frame);

/// Checks the result of a failed call or of a call into a model. It also records what a container function
/// did to the constants.
void check_result(ThreadState& state, MeasuredModel* model, const OpenCall& call, std::int32_t result);

/// Counts a model whose inputs cannot be checked.
void note_unchecked_model();

/// Gives the session the count of models whose inputs cannot be checked.
void start_checks(Session& session);

}  // namespace aoti_dbg
