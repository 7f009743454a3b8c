// Records in the tensor map where the tensors of a model on CUDA are: inputs, tensors that the wrapper
// creates and frees, and results of ops. It runs with AOTI_DBG_TRIAGE and where tensors are inspected
// (AOTI_DBG_CHECK). It costs a few libtorch getters per tensor and must not query the driver.
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "model/allocation_names.hpp"
#include "model/call_matcher.hpp"
#include "serializer/flight_ring_format.hpp"
#include "serializer/tensor_map_format.hpp"
#include "shim/runtime/shim_api.hpp"
#include "shim/runtime/stub_frame.hpp"

namespace aoti_dbg {

class MeasuredModel;
class Session;
class TensorMapFile;
struct ArgumentFacts;
struct OpenCall;
struct ThreadState;

/// The last tensor that a thread created as the n-th of a model's run. The next one is most likely the same,
/// so its facts are reused.
struct CreatedBefore {
    static constexpr std::uint64_t kMostRank = 4;  // tensors of higher rank are not reused

    std::uint32_t site = kNone;
    std::uint32_t since_site = kNone;
    bool is_placed = false;
    std::int32_t dtype = -1;
    std::int32_t device_type = -1;
    std::uint64_t rank = 0;
    std::array<std::int64_t, kMostRank> sizes{};
    std::array<std::int64_t, kMostRank> strides{};
    const NamedTensor* named = nullptr;
    tensors::Slot slot{};  // without address, times and run; zero bytes if the tensor is not recorded
};

/// The same for the n-th tensor that an op returned, if it covered all of its storage.
struct ReturnedBefore {
    const ArgumentFacts* facts = nullptr;
    std::uint64_t storage_bytes = 0;  // of the tensor as well; 0 if the size must be read each time
};

/// The tensors of one model, by their number in a run.
struct TensorsBefore {
    std::vector<CreatedBefore> made;
    std::vector<ReturnedBefore> returned;
};

/// The state of one run: its position, for names, and the tensors that it is going to free.
struct RunTensors {
    std::uint32_t run = ring::kNoRun;
    TensorMapFile* map = nullptr;
    std::uint32_t site = kNone;  // the last site that the run passed
    bool is_placed = true;       // if false, the site is a guess and nothing is named
    std::uint32_t created_since = 0;
    std::uint32_t made = 0;
    std::uint32_t returned = 0;
    TensorsBefore* before = nullptr;  // of its model
    // The map numbers of the tensors whose free the source shows, by NamedTensor::number; 0 for none. It
    // becomes empty when the run deviates from the call order of the source.
    const AllocationNames* names = nullptr;
    std::span<const FreedTensor> next_freed;  // those that the run has not passed
    std::vector<std::uint64_t> planned;
    // Other tensors with one owner that are not freed yet, and their numbers in the map. They are few, so a
    // linear search finds them. `may_have` skips the search for most other handles.
    std::vector<TensorHandle> handles;
    std::vector<std::uint64_t> numbers;
    std::bitset<1024> may_have;
};

/// The state of one thread.
struct TensorLifetimes {
    std::vector<RunTensors> runs;  // kept for their memory
    std::size_t depth = 0;         // number of active runs, since a run may be nested in an op of another
    RunTensors* last = nullptr;    // the active run that was used last
    std::map<std::uint16_t, TensorsBefore> before;  // by model
};

/// Gives the session a map of tensors next to the ring, if the options request it.
void start_tensor_map(Session& session);

/// Records the inputs of a run that starts.
void note_inputs(ThreadState& state, const MeasuredModel& model, const OpenCall& run);
/// Advances the innermost run, which belongs to `model`, to the matched call.
void note_site(ThreadState& state, const MeasuredModel& model, const CallMatcher::Match& match);
/// Records the tensor that aoti_torch_empty_strided returned.
void note_created_tensor(ThreadState& state, const MeasuredModel& model, const StubFrame& frame);
/// Records the tensors that an op returned (Slot::gives_tensors).
void note_returned_tensors(ThreadState& state, const MeasuredModel& model, const OpenCall& call);
/// Records a free before aoti_torch_delete_tensor_object runs. The caller can skip it while the source shows
/// every free.
void note_tensor_freed(ThreadState& state, TensorHandle handle);
/// Ends the tensors of a run that returned. If the run succeeded, the caller owns the remaining tensors.
void note_end_of_run(ThreadState& state, const OpenCall& run, std::int32_t result);

}  // namespace aoti_dbg
