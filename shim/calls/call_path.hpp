// The path of every kernel and op through begin_call() and end_call(), inline: launches take it without the
// calls of functions in between. Other code includes calls.hpp.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "shim/calls/call_lines.hpp"
#include "shim/calls/call_observer.hpp"
#include "shim/calls/calls.hpp"
#include "shim/calls/session.hpp"
#include "shim/calls/thread_state.hpp"
#include "shim/calls/unrecorded.hpp"
#include "shim/runtime/clock.hpp"
#include "shim/runtime/names.hpp"
#include "shim/runtime/process.hpp"

namespace aoti_dbg::call_path {

/// How a call reaches the library.
enum class By {
    any,
    hook,  // a launch that came through a driver hook
};

/// Returns true if the windows of the options contain the call.
bool is_in_windows(const OpenCall& call);

/// Ends a run or another entry into a model, which is no longer the innermost call.
void end_entry(ThreadState& state, OpenCall& entry, std::int32_t result);

/// What the options request for a call.
enum class Selection { none, record, all };

/// Counts a call and selects what is done for it.
[[gnu::always_inline]] inline Selection select(ThreadState& state, const OpenCall& call) {
    const Treatment& treatment = call.name->treatment;
    if (state.counts.calls.get() == 0) [[unlikely]]
        state.session->note_first_call();
    state.counts.calls.raise();
    // In this case, the call is only recorded.
    if (!showing() && (call.is_own || options().scope == Scope::all)) return Selection::record;
    if (!treatment.wants_all && !(treatment.wants_any && is_in_windows(call))) {
        // Record the call anyway, because any call can fault, hang or be checked.
        if (g_recording_unselected) return Selection::record;
        state.counts.filtered.raise();
        return Selection::none;
    }
    if (!call.is_own && options().scope == Scope::model) {
        state.counts.children.raise();
        return Selection::record;
    }
    return Selection::all;
}

/// Sets the members that the selection needs. The call is a kernel or an op. Returns its own number in its
/// run.
[[gnu::always_inline]] inline std::uint32_t number_call(const CallStart& start, const OpenCall* parent,
                                                        OpenCall& call) {
    OpenCall* const run = parent == nullptr ? nullptr : parent->around;
    call.is_own = start.by_model && (parent == nullptr || is_model_entry(parent->kind));
    const std::uint32_t own_number = call.is_own && run != nullptr ? run->next_call++ : ring::kNoCall;
    call.name = start.name;
    call.kind = start.kind;
    call.run = run != nullptr ? run->run : ring::kNoRun;
    call.number = call.is_own || parent == nullptr ? own_number : parent->number;
    call.around = run;
    return own_number;
}

/// Sets the members that begin as zero. Member by member, this would take three times as many instructions.
[[gnu::always_inline]] inline void clear(OpenCall& call) {
    constexpr std::size_t kBegin = offsetof(OpenCall, next_call);
    constexpr std::size_t kEnd = offsetof(OpenCall, passage);
    static_assert(std::is_standard_layout_v<OpenCall>);
    memset(reinterpret_cast<char*>(&call) + kBegin, 0, kEnd - kBegin);
}

/// Fills in the rest of what is known about a call before it starts.
[[gnu::always_inline]] inline void describe_call(const CallStart& start, const OpenCall* parent,
                                                 OpenCall& call) {
    const OpenCall* const run = parent == nullptr ? nullptr : parent->around;
    call.frame = start.frame;
    call.model = start.model == ring::kNoModel && run != nullptr ? run->model : start.model;
    call.stream = start.stream != 0 || run == nullptr ? start.stream : run->stream;
    call.site = kNone;
    call.passage = start.passage;
    if (parent != nullptr) call.nesting = parent->nesting + (is_model_entry(parent->kind) ? 0 : 1);
}

/// Writes the call, which is about to become the innermost, to the flight recorder ring. `number` is its own
/// number.
[[gnu::always_inline]] inline void write_record(ThreadState& state, OpenCall& call, const OpenCall* parent,
                                                const CallStart& start, std::uint32_t number,
                                                std::uint32_t depth) {
    Session& session = *state.session;
    const std::uint32_t name = start.name->id;
    session.publish_name(name);
    if (start.launch.context != 0) session.publish_contexts();
    const std::uint64_t seq = call.seq = session.next_seq();
    // Write directly into the ring, because every launch takes this path.
    ring::Record& record = state.ring.next();
    record.begin_ticks = ticks();
    record.end_ticks = 0;
    record.stream = start.stream;
    record.name = name;
    record.run = call.run;
    record.call = number;
    record.depth = static_cast<std::uint8_t>(depth);
    record.context = start.launch.context;
    record.mark = 0;
    record.back = parent == nullptr || parent->seq == 0 ? 0 : static_cast<std::uint32_t>(seq - parent->seq);
    record.launch = start.launch.kernel;
    record.result = 0;
    record.model = call.model;
    record.kind = start.kind;
    record.flags = call.is_requested && start.name->treatment.has_levels && !is_model_entry(start.kind)
                       ? ring::kPrinted
                       : 0;
    if (any_call_lines()) [[unlikely]]
        state.ring.note_line(record, line_of_call(state, call).line);
    state.ring.publish_next(record, seq);
    call.record = &record;
}

/// Opens the call, which has its place on the stack but is not counted as open yet.
[[gnu::always_inline]] inline void open_call(ThreadState& state, const CallStart& start, OpenCall& call) {
    const std::uint64_t mark = ++state.marks;
    call.mark = mark;
    call.cookie = start.cookie;
    if (start.cookie != nullptr) __atomic_store_n(start.cookie, mark, __ATOMIC_RELAXED);
}

/// Opens the call, records it and passes it to the observers.
template <By kBy>
[[gnu::always_inline]] inline void start_call(ThreadState& state, const CallStart& start,
                                              const OpenCall* parent, OpenCall& call, bool is_recorded,
                                              std::uint32_t number) {
    const std::uint32_t depth = state.depth;
    open_call(state, start, call);
    if (state.ring && is_recorded) {
        write_record(state, call, parent, start, number, depth);
    } else if (any_feature_active()) {
        call.seq = state.session->next_seq();
    }
    const ActiveObservers& observers = active_observers();
    for (const CallObserver* const observer :
         kBy == By::hook && !call.is_requested ? observers.before_hooked : observers.before_of(call))
        observer->before(state, call);
    state.depth = depth + 1;
}

/// Shows the hang watchdog that the thread makes progress.
inline void note_progress(ThreadState& state, const CallStart& start) {
    state.progress.steps.raise();
    state.progress.stack.store(start.frame, std::memory_order_relaxed);
}

/// Returns the place of the call inside of `top`, the innermost one or null. Returns null if there is no
/// place.
[[gnu::always_inline]] inline OpenCall* place_inside(ThreadState& state, OpenCall* top) {
    OpenCall* place = top == nullptr ? state.open.data() : top + 1;
    if (place == state.open.data() + state.open.size()) [[unlikely]] {
        state.counts.deep.raise();
        return nullptr;
    }
    // Otherwise the compiler computes the place again for each member.
    asm("" : "+r"(place));
    return place;
}

/// begin_call() for a kernel or an op. `parent` is the innermost open call or null.
template <By kBy>
[[gnu::always_inline]] inline bool begin(ThreadState& state, const CallStart& start, OpenCall* parent) {
    note_progress(state, start);
    OpenCall* const place = place_inside(state, parent);
    if (place == nullptr) return false;
    OpenCall& call = *place;
    if (parent != nullptr && parent->is_skipped) return false;
    const std::uint32_t own_number = number_call(start, parent, call);
    const ActiveObservers& observers = active_observers();
    const bool describes_early = observers.describes_early;
    if (describes_early) {
        clear(call);
        describe_call(start, parent, call);
        for (const CallObserver* const observer : observers.identify)
            observer->identify(state, call);
    }
    const Selection selection = select(state, call);
    if (selection == Selection::none) {
        for (const CallObserver* const observer : observers.skip)
            observer->skip(state, call);
        // A call that is not selected costs no more than this.
        if (!g_follow_unselected) return false;
    }
    if (!describes_early) {
        clear(call);
        describe_call(start, parent, call);
    }
    if (selection == Selection::all) {
        call.sides = start.name->treatment.sides;
        call.is_requested = true;
    }
    start_call<kBy>(state, start, parent, call, selection != Selection::none, own_number);
    return true;
}

/// end_call().
template <By kBy>
[[gnu::always_inline]] inline void end(ThreadState& state, std::uintptr_t frame, std::int32_t result,
                                       std::uint8_t flags) {
    std::uint32_t depth = state.depth;
    if (depth == 0) return;
    OpenCall* call = &state.open[depth - 1];
    asm("" : "+r"(call));
    if (call->frame != frame) [[unlikely]] {
        // An exception unwound the calls above this one, and the program caught it before this call returned.
        call = close_unwound_calls(state, frame - 1);
        if (call == nullptr || call->frame != frame) return;
        depth = state.depth;
    }
    state.depth = depth - 1;
    state.progress.steps.raise();
    const ring::CallKind kind = call->kind;
    if (kind == ring::CallKind::cpp_kernel) result = 0;  // these functions return void
    if (call->record != nullptr)
        ThreadRing::end(call->record, call->seq, result, static_cast<std::uint8_t>(flags | ring::kEnded),
                        ticks());
    if (result != 0 && kind != ring::CallKind::lifecycle) [[unlikely]] {
        state.counts.failed.raise();
        if (call->record == nullptr && ring::returns_cuda_error(kind)) note_unrecorded_failure(result);
    }
    if (kBy != By::hook && is_model_entry(kind)) return end_entry(state, *call, result);
    const ActiveObservers& observers = active_observers();
    for (const CallObserver* const observer :
         kBy == By::hook && !call->is_requested ? observers.after_hooked : observers.after_of(*call))
        observer->after(state, *call, result);
}

}  // namespace aoti_dbg::call_path
