// The steps from a call to its tensors in a launching thread: its site, its arguments, and the tensors behind
// them.
#pragma once

#include <unistd.h>

#include <array>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "model/call_matcher.hpp"
#include "serializer/measured_event.hpp"
#include "shim/calls/thread_state.hpp"
#include "shim/runtime/driver_api.hpp"
#include "shim/tensors/arguments.hpp"
#include "shim/tensors/fetched_pointers.hpp"
#include "shim/tensors/known_layouts.hpp"
#include "shim/tensors/tensor_lifetimes.hpp"
#include "shim/tensors/tensor_reader.hpp"

namespace aoti_dbg {

/// Follows the runs of one model in one thread.
struct Follower {
    explicit Follower(const CallPlan& plan) : matcher(plan) {}
    CallMatcher matcher;
    std::uint32_t run = ring::kNoRun;
    // These orders hold until a call shows another one. Inductor compiles its wrappers with GCC, and launch
    // helpers fetch one pointer at a time.
    FetchOrder kernel_order = FetchOrder::last_to_first;
    FetchOrder launch_order = FetchOrder::first_to_last;
    KnownLayouts layouts;
};

/// The facts of a constant, valid while the model's change counter stays the same.
struct KnownConstant {
    const MeasuredModel* model = nullptr;
    std::uint64_t address = 0;
    std::uint32_t changed = 0;
    const SeenFacts* facts = nullptr;
};

/// The plan's number of a kernel or op name, as this thread last looked it up.
struct KnownId {
    const Name* name = nullptr;
    std::uint16_t model = 0;
    std::uint32_t id = kNone;
};

/// The part of a thread that all features share.
struct CallTensors {
    CallTensors() = default;
    ~CallTensors();
    CallTensors(const CallTensors&) = delete;
    CallTensors& operator=(const CallTensors&) = delete;

    std::vector<FetchedPointer> pointers;       // since the last call
    std::uint32_t pointers_run = ring::kNoRun;  // the run that fetched them
    bool pointers_are_old = false;              // a call has used them
    bool are_constants = false;                 // a constant is among them
    std::uint32_t matched_run = ring::kNoRun;   // the last run with a matched call
    std::array<KnownId, 256> known_ids;         // by the name's number
    std::map<std::uint16_t, Follower> followers;
    std::uint16_t followed = ring::kNoModel;  // the model of the last matched call
    Follower* follower = nullptr;             // of that model
    std::uint32_t sized_run = ring::kNoRun;   // the last run that began
    std::uint64_t input_sizes = 0;            // a hash of the sizes of its inputs
    TensorReader reader;
    std::vector<KnownConstant> constants;
    std::unordered_map<const void*, std::vector<std::uint32_t>> parameter_sizes;  // by function, for one run
    TensorLifetimes made;
    std::uint64_t thread = static_cast<std::uint64_t>(gettid());
    // Buffers for the current call, kept for their memory. The other side of the call reuses the contents if
    // nothing came between.
    std::uint64_t found_for = 0;  // sequence number of the call
    PlainList<CallArgument> found;
    KnownLayouts* layouts = nullptr;    // of the call's model, if they can be used
    std::vector<SeenTensor> tensors;    // for each entry of `found`; null facts if there is none
    std::vector<PassedPointer> passed;  // the pointers among `found`
    std::vector<TensorHandle> handles;  // for each entry of `passed`, or each end of a run
};

inline CallTensors& tensors_of(ThreadState& state) {
    return state.parts.get<CallTensors>();
}

/// Records that the model fetched the address of a tensor, which the next kernel may receive. `state` is null
/// if this thread has recorded nothing yet.
void note_pointer(ThreadState* state, MeasuredModel& model, TensorHandle handle);

/// Records the sizes of the inputs of a run. Call it when the run begins, because the model frees them early.
void note_input_sizes(ThreadState& state, const MeasuredModel& model, const OpenCall& run);

/// Returns the site of a model's own call in a run, or kNone if it is unknown. Call it for every such call,
/// selected or not, because the order of calls determines the sites.
CallMatcher::Match match_site(ThreadState& state, const MeasuredModel& model, std::uint16_t number,
                              std::uint32_t run, const Name& name, const Passage& passage);

/// True if the arguments of the model's own call can be decoded. For other calls only the name is printed.
bool has_arguments(const Passage& passage);

/// Invalidates what was found for another call.
void begin_finding(CallTensors& own);

/// Fills `found` and `tensors` with the arguments of a call. It calls libtorch, which may call the driver, so
/// the caller must hold no lock.
void find_arguments(CallTensors& own, const MeasuredModel& model, const OpenCall& call, When when);

/// Does the same, but looks up no tensor: look_up() does that for one argument. Each lookup calls a dozen
/// getters of libtorch.
void decode_arguments(CallTensors& own, const MeasuredModel& model, const OpenCall& call, When when);
void look_up(CallTensors& own, const MeasuredModel& model, std::size_t i);

/// Returns the facts of the call's site, also if the model or the site is unknown. Only for calls that have
/// not returned to the model, in their own thread.
const SiteFacts& site_facts(const MeasuredModel* model, const OpenCall& call);

/// True if the i-th argument is a tensor that can be inspected. A call that failed may have created nothing.
inline bool has_tensor(const CallTensors& own, std::size_t i, When when, std::int32_t result) {
    const CallArgument& argument = own.found[i];
    if (argument.kind == CallArgument::Kind::scalar || own.tensors[i].facts == nullptr) return false;
    const bool is_created = argument.only_after || argument.facts->role == Role::makes;
    return !is_created || (when == When::after && result == 0);
}

/// Fills `handles` with the inputs or the outputs of a run. An absent one is null.
void find_end_handles(const OpenCall& run, EventSide side, std::vector<TensorHandle>& handles);

/// Fills `tensors` with the inputs or the outputs of a run. Returns the context of the first tensor on a
/// device, or null if there is none. Before the model sets its device, this thread may have no context or a
/// different one.
CUcontext find_end_tensors(CallTensors& own, const MeasuredModel& model, const OpenCall& run, EventSide side);

}  // namespace aoti_dbg
