// AOTI_DBG_CHECK=args in the program's threads: what is called at the borders of runs and calls. To be called
// only where checking() says so.
#pragma once

#include <cstdint>

namespace aoti_dbg {

class MeasuredModel;
struct OpenCall;
struct StubFrame;
struct ThreadState;

/// A run is about to begin. `model` is null where nothing can be asked of its tensors.
void check_run(ThreadState& state, MeasuredModel* model, const OpenCall& run);

/// A kernel of the model's is about to be launched.
void check_launch(ThreadState& state, const MeasuredModel& model, const OpenCall& call);

/// The model is about to look at a storage in another way: a call of aoti_torch__reinterpret_tensor with this
/// frame.
void check_view(ThreadState& state, const MeasuredModel& model, const StubFrame& frame);

/// The innermost call of the thread was left by an exception. `frame` is where its stack stands by now.
void check_unwound(ThreadState& state, std::uintptr_t frame);

/// A call has come back with an error, or one that leads into a model has come back. Of a function of the
/// container's it is noted what it did to the constants.
void check_result(ThreadState& state, MeasuredModel* model, const OpenCall& call, std::int32_t result);

/// Models whose runs came with inputs of which no source says what they have to be.
std::uint64_t count_unchecked_models();

}  // namespace aoti_dbg
