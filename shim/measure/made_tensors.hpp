// Notes where the tensors of a model on CUDA lie, in the map of tensors: its inputs, what its wrapper makes
// and lets go, what its ops return. Done with AOTI_DBG_TRIAGE where tensors are looked at (AOTI_DBG_CHECK);
// costs some getters of libtorch a tensor, and asks the driver nothing.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "model/call_matcher.hpp"
#include "serializer/flight_ring_format.hpp"
#include "shim/bind/stub_frame.hpp"
#include "shim/measure/shim_api.hpp"

namespace aoti_dbg {

class MeasuredModel;
struct OpenCall;
struct ThreadState;

/// Of one run: where it is, for names, and what of its tensors it will let go.
struct RunTensors {
    std::uint32_t run = ring::kNoRun;
    std::uint32_t site = kNone;  // that was passed last
    bool is_placed = true;       // false: a guess, so nothing is named
    std::uint32_t made_since = 0;
    // Made, with one owner, and not let go, and their numbers in the map. Few at a time: found by looking
    // through them, but for those of which `may_have` knows better.
    std::vector<TensorHandle> handles;
    std::vector<std::uint64_t> numbers;
    std::bitset<1024> may_have;
};

/// What is kept of a thread.
struct MadeTensors {
    std::vector<RunTensors> runs;  // kept for their memory
    std::size_t depth = 0;         // how many of them are under way: runs may lie in ops of others
};

/// A run begins, and is given `count` tensors.
void note_inputs(ThreadState& state, const MeasuredModel& model, const OpenCall& run,
                 const TensorHandle* handles, std::size_t count);
/// A call of the innermost run, `run`, has been matched.
void note_site(ThreadState& state, std::uint32_t run, const CallMatcher::Match& match);
/// aoti_torch_empty_strided has come back.
void note_made_tensor(ThreadState& state, const MeasuredModel& model, const StubFrame& frame);
/// An op has come back that gives tensors (Slot::gives_tensors).
void note_returned_tensors(ThreadState& state, const MeasuredModel& model, const OpenCall& call);
/// aoti_torch_delete_tensor_object is about to be called.
void note_let_go(ThreadState& state, TensorHandle handle);
/// A run has come back: what is still there is the caller's.
void note_end_of_run(ThreadState& state, const OpenCall& run);

}  // namespace aoti_dbg
