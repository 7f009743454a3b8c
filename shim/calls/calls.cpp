#include "shim/calls/calls.hpp"

#include <atomic>
#include <cstddef>
#include <cstring>
#include <optional>
#include <type_traits>

#include "shim/calls/call_lines.hpp"
#include "shim/calls/call_observer.hpp"
#include "shim/calls/session.hpp"
#include "shim/calls/skipped_runs.hpp"
#include "shim/calls/thread_state.hpp"
#include "shim/calls/unrecorded.hpp"
#include "shim/calls/unwound_calls.hpp"
#include "shim/runtime/clock.hpp"
#include "shim/runtime/names.hpp"
#include "shim/runtime/process.hpp"

namespace aoti_dbg {
namespace {

/// Returns true if the windows of the options contain the call.
[[gnu::noinline]] bool is_in_windows(const OpenCall& call) {
    const auto known = [](std::uint32_t value, std::uint32_t none) {
        return value == none ? std::nullopt : std::optional<std::uint64_t>(value);
    };
    return call.name->treatment.wants(known(call.run, ring::kNoRun), known(call.number, ring::kNoCall));
}

/// Counts a call and returns true if it is recorded. Sets `call.sides` to what else to do with it.
[[gnu::always_inline]] inline bool select(ThreadState& state, OpenCall& call) {
    const Treatment& treatment = call.name->treatment;
    if (state.counts.calls.get() == 0) [[unlikely]]
        state.session->note_first_call();
    state.counts.calls.raise();
    // In this case, the call is only recorded.
    if (!showing() && (call.is_own || options().scope == Scope::all)) return true;
    if (!treatment.wants_all && !(treatment.wants_any && is_in_windows(call))) {
        // Record the call anyway, because any call can fault, hang or be checked.
        if (g_recording_unselected) return true;
        state.counts.filtered.raise();
        return false;
    }
    if (!call.is_own && options().scope == Scope::model) {
        state.counts.children.raise();
        return true;
    }
    call.sides = treatment.sides;
    call.is_requested = true;
    return true;
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

/// Does the same for a run or another entry into a model, which has no number in a run.
void number_entry(ThreadState& state, const CallStart& start, const OpenCall* parent, OpenCall& call) {
    OpenCall* const run = parent == nullptr ? nullptr : parent->around;
    const bool is_run = start.kind == ring::CallKind::run;
    call.is_own = start.by_model && (parent == nullptr || is_model_entry(parent->kind));
    call.name = start.name;
    call.kind = start.kind;
    call.run = is_run ? state.session->next_run() : (run != nullptr ? run->run : ring::kNoRun);
    call.number = ring::kNoCall;
    call.around = is_run ? &call : run;
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
                                                const CallStart& start, std::uint32_t number) {
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
    record.depth = static_cast<std::uint8_t>(state.depth);
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
[[gnu::always_inline]] inline void start_call(ThreadState& state, const CallStart& start,
                                              const OpenCall* parent, OpenCall& call, bool is_recorded,
                                              std::uint32_t number) {
    open_call(state, start, call);
    if (state.ring && is_recorded) {
        write_record(state, call, parent, start, number);
    } else if (any_feature_active()) {
        call.seq = state.session->next_seq();
    }
    for (const CallObserver* const observer : active_observers().before_of(call))
        observer->before(state, call);
    ++state.depth;
}

void begin_skipped_run(ThreadState& state, const CallStart& start, const OpenCall* parent, OpenCall& run) {
    describe_call(start, parent, run);
    run.is_skipped = true;
    state.counts.runs.raise();
    state.counts.skipped.raise();
    for (const CallObserver* const observer : active_observers().skip)
        observer->skip(state, run);
    open_call(state, start, run);
    ++state.depth;
    watch_as_run_needs(state);
}

void end_run(ThreadState& state, const OpenCall& run) {
    for (const CallObserver* const observer : active_observers().end_run)
        observer->end_run(state, run);
}

}  // namespace

std::uint32_t nesting_of(const ThreadState& state) {
    std::uint32_t nesting = 0;
    for (std::uint32_t i = 0; i < state.depth; ++i)
        nesting += is_model_entry(state.open[i].kind) ? 0 : 1;
    return nesting;
}

void close_calls_below(ThreadState& state, std::uintptr_t frame) {
    while (state.depth > 0) {
        OpenCall& left = state.open[state.depth - 1];
        if (!is_left(state, left, frame)) return;
        for (const CallObserver* const observer : active_observers().unwind)
            observer->unwind(state, left, frame);
        if (left.kind == ring::CallKind::run) end_run(state, left);
        close_innermost_unwound(state);
    }
}

namespace {

/// Does what begin_call() promises for a run or another entry into a model.
[[gnu::hot, gnu::noinline]] bool begin_entry_at(ThreadState& state, const CallStart& start,
                                                const OpenCall* parent, OpenCall& call) {
    clear(call);
    number_entry(state, start, parent, call);
    const bool is_run = start.kind == ring::CallKind::run;
    call.is_requested = is_run && showing();
    if (is_run && may_skip_run(state, start, call)) {
        begin_skipped_run(state, start, parent, call);
        return true;
    }
    describe_call(start, parent, call);
    for (const CallObserver* const observer : active_observers().identify)
        observer->identify(state, call);
    if (is_run) {
        state.counts.runs.raise();
        call.container_changes = container_changes();
        watch_all_roles();
    } else {
        note_container_call(call);
    }
    const bool is_recorded = !is_run || may_select_run(options(), call.run);
    if (is_run && is_recorded && state.ring) state.session->ring()->note_run_begun();
    start_call(state, start, parent, call, is_recorded, ring::kNoCall);
    return true;
}

/// Does what begin_call() promises for a kernel or an op, with the call in its place. It is not inlined,
/// because the compiler would compute the place again for each member.
[[gnu::hot, gnu::noinline]] bool begin_call_at(ThreadState& state, const CallStart& start,
                                               const OpenCall* parent, OpenCall& call) {
    clear(call);
    const std::uint32_t own_number = number_call(start, parent, call);
    const ActiveObservers& observers = active_observers();
    const bool describes_early = observers.describes_early;
    if (describes_early) {
        describe_call(start, parent, call);
        for (const CallObserver* const observer : observers.identify)
            observer->identify(state, call);
    }
    const bool is_recorded = select(state, call);
    if (!is_recorded) {
        for (const CallObserver* const observer : observers.skip)
            observer->skip(state, call);
        // A call that is not selected costs no more than this.
        if (!g_follow_unselected) return false;
    }
    if (!describes_early) describe_call(start, parent, call);
    start_call(state, start, parent, call, is_recorded, own_number);
    return true;
}

[[gnu::always_inline]] inline void finish_observers(ThreadState& state, OpenCall& call, std::int32_t result) {
    for (const CallObserver* const observer : active_observers().after_of(call))
        observer->after(state, call, result);
}

/// Ends a run or another entry into a model, which is no longer the innermost call.
[[gnu::noinline]] void end_entry(ThreadState& state, OpenCall& entry, std::int32_t result) {
    const bool is_run = entry.kind == ring::CallKind::run;
    if (is_run) watch_as_run_needs(state);
    if (entry.is_skipped) return end_run(state, entry);
    if (is_run && result == 0) note_whole_run(state, entry);
    if (!is_run) note_container_call(entry);
    finish_observers(state, entry, result);
    if (is_run) end_run(state, entry);
}

/// Ends the call, which is no longer the innermost one.
[[gnu::hot, gnu::noinline]] void end_call_at(ThreadState& state, OpenCall& call, std::int32_t result,
                                             std::uint8_t flags) {
    state.progress.steps.raise();
    const ring::CallKind kind = call.kind;
    if (kind == ring::CallKind::cpp_kernel) result = 0;  // these functions return void
    if (call.record != nullptr)
        ThreadRing::end(call.record, call.seq, result, static_cast<std::uint8_t>(flags | ring::kEnded),
                        ticks());
    if (result != 0 && kind != ring::CallKind::lifecycle) [[unlikely]] {
        state.counts.failed.raise();
        if (call.record == nullptr && ring::returns_cuda_error(kind)) note_unrecorded_failure(result);
    }
    if (is_model_entry(kind)) return end_entry(state, call, result);
    finish_observers(state, call, result);
}

}  // namespace

[[gnu::hot]] bool begin_call(ThreadState& state, const CallStart& start) {
    state.progress.steps.raise();
    state.progress.stack.store(start.frame, std::memory_order_relaxed);
    const std::uint32_t depth = state.depth;
    if (depth == kDeepest) [[unlikely]] {
        state.counts.deep.raise();
        return false;
    }
    OpenCall* const call = &state.open[depth];
    const OpenCall* const parent = depth == 0 ? nullptr : call - 1;
    if (is_model_entry(start.kind)) return begin_entry_at(state, start, parent, *call);
    if (parent != nullptr && parent->is_skipped) return false;
    return begin_call_at(state, start, parent, *call);
}

[[gnu::hot]] void end_call(ThreadState& state, std::uintptr_t frame, std::int32_t result,
                           std::uint8_t flags) {
    std::uint32_t depth = state.depth;
    if (depth == 0) return;
    OpenCall* call = &state.open[depth - 1];
    if (call->frame != frame) [[unlikely]] {
        // An exception unwound the calls above this one, and the program caught it before this call returned.
        close_unwound_calls(state, frame - 1);
        depth = state.depth;
        if (depth == 0) return;
        call = &state.open[depth - 1];
        if (call->frame != frame) return;
    }
    state.depth = depth - 1;
    end_call_at(state, *call, result, flags);
}

}  // namespace aoti_dbg
