// What is kept of a launching thread, and how it comes from a call to its tensors: which site the call is,
// what its arguments are, what lies behind them.
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
    // Until a call shows another one: Inductor compiles its wrappers with GCC, and launch helpers ask pointer
    // by pointer.
    FetchOrder kernel_order = FetchOrder::last_to_first;
    FetchOrder launch_order = FetchOrder::first_to_last;
};

/// What a model said of a constant, as long as it has not changed its mind.
struct KnownConstant {
    const MeasuredModel* model = nullptr;
    std::uint64_t address = 0;
    std::uint32_t changed = 0;
    const SeenFacts* facts = nullptr;
};

/// What a name of a model's calls is in its plan, as this thread found it last.
struct KnownId {
    const Name* name = nullptr;
    std::uint16_t model = 0;
    std::uint32_t id = kNone;
};

/// Whether the views that a run makes have to be looked at: not where nothing has changed since one that made
/// sound ones. Told by what a run is given, as one number; 0: not known.
struct CheckedViews {
    std::uint64_t sound = 0;    // of a run that was well
    std::uint64_t at_hand = 0;  // of the run that is under way
    [[nodiscard]] bool are_sound() const { return at_hand != 0 && at_hand == sound; }
};

struct MeasuringThread {
    std::vector<FetchedPointer> pointers;       // since the last call
    std::uint32_t pointers_run = ring::kNoRun;  // that they were fetched in
    bool pointers_are_old = false;              // a call has taken them
    bool are_constants = false;                 // since a constant was among them
    std::uint32_t matched_run = ring::kNoRun;   // the last one that a call of was matched
    std::array<KnownId, 256> known_ids;         // by the name's number
    std::map<std::uint16_t, Follower> followers;
    TensorReader reader;
    std::vector<KnownConstant> constants;
    StreamPoint* point = nullptr;  // of the last measured call
    Measurer::FoundPoint found_point;
    std::unordered_map<const void*, std::vector<std::uint32_t>> parameter_sizes;  // by function, of one run
    // Number of the facts that were compared last and found right, by model and position.
    std::map<std::pair<std::uint16_t, std::uint64_t>, std::uint64_t> sound_inputs;
    CheckedPointers pointers_checked;
    TensorLifetimes made;
    std::map<std::uint16_t, CheckedViews> views;  // by model
    CheckedViews* views_at_hand = nullptr;        // of the run that is under way
    std::uint32_t found_in_run = ring::kNoRun;  // the last run in which its arguments or a result were wrong
    std::uint64_t thread = static_cast<std::uint64_t>(gettid());
    // Of the call at hand, kept for their memory: and for its other side, where nothing came between.
    std::uint64_t found_for = 0;  // sequence of the call
    std::vector<CallArgument> found;
    std::vector<SeenTensor> tensors;    // of `found`; null facts: none
    std::vector<PassedPointer> passed;  // the pointers among `found`
    std::vector<TensorHandle> handles;  // of those
    SideState side;
};

inline MeasuringThread& own_part(ThreadState& state) {
    if (!state.measuring) [[unlikely]]
        state.measuring.reset(new MeasuringThread);
    return *state.measuring;
}

/// What was found for another call is used no more.
void begin_finding(MeasuringThread& own);

/// Fills `found` and `tensors` with the arguments of a call. Asks libtorch, which may have work done by the
/// driver: before any lock is taken.
void find_arguments(MeasuringThread& own, const MeasuredModel& model, const OpenCall& call, When when);

}  // namespace aoti_dbg
