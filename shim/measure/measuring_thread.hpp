// The state of a launching thread, and the steps from a call to its tensors: its site, its arguments, and the
// tensors behind them.
#pragma once

#include <unistd.h>

#include <array>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "model/call_matcher.hpp"
#include "shim/calls/thread_state.hpp"
#include "shim/check/checked_pointers.hpp"
#include "shim/measure/measured_side.hpp"
#include "shim/measure/measurer.hpp"
#include "shim/measure/measuring.hpp"
#include "shim/tensors/arguments.hpp"
#include "shim/tensors/fetched_pointers.hpp"
#include "shim/tensors/tensor_lifetimes.hpp"

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

/// Decides whether the views that a run creates need a check. They do not if the inputs are those of a run
/// whose views were sound. One number identifies the inputs; 0 means unknown.
struct CheckedViews {
    std::uint64_t sound = 0;    // number of a run whose views were sound
    std::uint64_t at_hand = 0;  // number of the current run
    [[nodiscard]] bool are_sound() const { return at_hand != 0 && at_hand == sound; }
};

struct MeasuringThread {
    std::vector<FetchedPointer> pointers;       // since the last call
    std::uint32_t pointers_run = ring::kNoRun;  // the run that fetched them
    bool pointers_are_old = false;              // a call has used them
    bool are_constants = false;                 // a constant is among them
    std::uint32_t matched_run = ring::kNoRun;   // the last run with a matched call
    std::array<KnownId, 256> known_ids;         // by the name's number
    std::map<std::uint16_t, Follower> followers;
    TensorReader reader;
    std::vector<KnownConstant> constants;
    StreamPoint* point = nullptr;  // of the last measured call
    Measurer::FoundPoint found_point;
    std::unordered_map<const void*, std::vector<std::uint32_t>> parameter_sizes;  // by function, for one run
    // The number of the facts that the last comparison found right, by model and position.
    std::map<std::pair<std::uint16_t, std::uint64_t>, std::uint64_t> sound_inputs;
    CheckedPointers pointers_checked;
    TensorLifetimes made;
    std::map<std::uint16_t, CheckedViews> views;  // by model
    CheckedViews* views_at_hand = nullptr;        // of the current run
    std::uint32_t found_in_run = ring::kNoRun;    // the last run with a wrong argument or result
    std::uint64_t thread = static_cast<std::uint64_t>(gettid());
    // Buffers for the current call, kept for their memory. The other side of the call reuses the contents if
    // nothing came between.
    std::uint64_t found_for = 0;  // sequence number of the call
    std::vector<CallArgument> found;
    std::vector<SeenTensor> tensors;    // for each entry of `found`; null facts if there is none
    std::vector<PassedPointer> passed;  // the pointers among `found`
    std::vector<TensorHandle> handles;  // for each entry of `passed`
    SideState side;
};

inline MeasuringThread& own_part(ThreadState& state) {
    if (!state.measuring) [[unlikely]]
        state.measuring.reset(new MeasuringThread);
    return *state.measuring;
}

/// Invalidates what was found for another call.
void begin_finding(MeasuringThread& own);

/// Fills `found` and `tensors` with the arguments of a call. It calls libtorch, which may call the driver, so
/// the caller must hold no lock.
void find_arguments(MeasuringThread& own, const MeasuredModel& model, const OpenCall& call, When when);

}  // namespace aoti_dbg
