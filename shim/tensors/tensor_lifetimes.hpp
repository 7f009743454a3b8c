// Notes where the tensors of a model on CUDA lie, in the map of tensors: its inputs, what its wrapper makes
// and lets go, what its ops return. Done with AOTI_DBG_TRIAGE where tensors are looked at (AOTI_DBG_CHECK);
// costs some getters of libtorch a tensor, and asks the driver nothing.
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "model/allocation_names.hpp"
#include "model/call_matcher.hpp"
#include "serializer/flight_ring_format.hpp"
#include "serializer/tensor_map_format.hpp"
#include "shim/runtime/shim_api.hpp"
#include "shim/runtime/stub_frame.hpp"

namespace aoti_dbg {

class MeasuredModel;
struct ArgumentFacts;
struct OpenCall;
struct ThreadState;

/// What a thread made last as the n-th tensor of a model's run: it will most likely be the same again, and
/// need not be found out again.
struct CreatedBefore {
    static constexpr std::uint64_t kMostRank = 4;  // of more it is found out each time

    std::uint32_t site = kNone;
    std::uint32_t since_site = kNone;
    bool is_placed = false;
    std::int32_t dtype = -1;
    std::int32_t device_type = -1;
    std::uint64_t rank = 0;
    std::array<std::int64_t, kMostRank> sizes{};
    std::array<std::int64_t, kMostRank> strides{};
    const NamedTensor* named = nullptr;
    tensors::Slot slot{};  // without address, times and run; no bytes: it is not noted
};

/// The same of the n-th that an op returned, where it had all of its storage.
struct ReturnedBefore {
    const ArgumentFacts* facts = nullptr;
    std::uint64_t storage_bytes = 0;  // of the tensor as well; 0: it is found out each time
};

/// Of a model, by the tensor's number in a run.
struct TensorsBefore {
    std::vector<CreatedBefore> made;
    std::vector<ReturnedBefore> returned;
};

/// Of one run: where it is, for names, and what of its tensors it will let go.
struct RunTensors {
    std::uint32_t run = ring::kNoRun;
    std::uint32_t site = kNone;  // that was passed last
    bool is_placed = true;       // false: a guess, so nothing is named
    std::uint32_t created_since = 0;
    std::uint32_t made = 0;
    std::uint32_t returned = 0;
    TensorsBefore* before = nullptr;  // of its model
    // Of those whose ends the source tells, the numbers in the map, 0 for none, by NamedTensor::number. Empty
    // once the run has not made the calls of the source one after the other.
    const AllocationNames* names = nullptr;
    std::size_t next_freed = 0;
    std::vector<std::uint64_t> planned;
    // Of others with one owner that were not let go, and their numbers in the map. Few at a time: found by
    // looking through them, but for those of which `may_have` knows better.
    std::vector<TensorHandle> handles;
    std::vector<std::uint64_t> numbers;
    std::bitset<1024> may_have;
};

/// What is kept of a thread.
struct TensorLifetimes {
    std::vector<RunTensors> runs;  // kept for their memory
    std::size_t depth = 0;         // how many of them are under way: runs may lie in ops of others
    std::map<std::uint16_t, TensorsBefore> before;  // by model
};

/// A run begins, and is given `count` tensors.
void note_inputs(ThreadState& state, const MeasuredModel& model, const OpenCall& run,
                 const TensorHandle* handles, std::size_t count);
/// A call of the innermost run, which is of `model`, has been matched.
void note_site(ThreadState& state, const MeasuredModel& model, const CallMatcher::Match& match);
/// aoti_torch_empty_strided has come back.
void note_created_tensor(ThreadState& state, const MeasuredModel& model, const StubFrame& frame);
/// An op has come back that gives tensors (Slot::gives_tensors).
void note_returned_tensors(ThreadState& state, const MeasuredModel& model, const OpenCall& call);
/// aoti_torch_delete_tensor_object is about to be called. While all ends are told by the source it need not
/// be said.
void note_tensor_freed(ThreadState& state, TensorHandle handle);
/// A run has come back: if it has not failed, what is still there is the caller's.
void note_end_of_run(ThreadState& state, const OpenCall& run, std::int32_t result);

}  // namespace aoti_dbg
