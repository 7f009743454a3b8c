#include "shim/calls/calls.hpp"

#include <atomic>
#include <optional>

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

/// Returns true if another frame has overwritten the frame of `call`. That frame is above `frame` on this
/// thread's stack.
bool is_gone(ThreadState& state, const OpenCall& call, std::uintptr_t frame) {
    // A cookie on another stack (a fiber's, perhaps already freed) must not be read.
    if (call.cookie == nullptr || readable_stack_words(state, frame) == 0) return false;
    if (reinterpret_cast<std::uintptr_t>(call.cookie.get()) >= state.stack_high) return false;
    return is_overwritten(call);
}

/// Counts a call and returns true if it is recorded. Sets `call.sides` to what else to do with it.
bool select(ThreadState& state, OpenCall& call) {
    const auto known = [](std::uint32_t value, std::uint32_t none) {
        return value == none ? std::nullopt : std::optional<std::uint64_t>(value);
    };
    const Treatment& treatment = call.name->treatment;
    if (state.counts.calls.get() == 0) state.session->note_first_call();
    state.counts.calls.raise();
    // In this case, the call is only recorded.
    if (!showing() && (call.is_own || options().scope == Scope::all)) return true;
    if (!treatment.wants(known(call.run, ring::kNoRun), known(call.number, ring::kNoCall))) {
        // Record the call anyway, because any call can fault, hang or be checked.
        if (options().records_all() || options().timeline || checking() || ordering()) return true;
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

/// Numbers the call, which is all that the selection needs. Returns its own number in its run.
std::uint32_t number_call(ThreadState& state, const CallStart& start, const OpenCall* parent,
                          OpenCall& call) {
    OpenCall* const run = parent == nullptr ? nullptr : parent->around;
    const bool is_run = start.kind == ring::CallKind::run;
    const bool is_call = !is_model_entry(start.kind);
    call.is_own = start.by_model && (parent == nullptr || is_model_entry(parent->kind));
    const std::uint32_t own_number =
        call.is_own && is_call && run != nullptr ? run->next_call++ : ring::kNoCall;
    call.name = start.name;
    call.kind = start.kind;
    call.run = is_run ? state.session->next_run() : (run != nullptr ? run->run : ring::kNoRun);
    call.number = call.is_own || !is_call || parent == nullptr ? own_number : parent->number;
    call.around = is_run ? &call : run;
    call.sides = {};
    call.is_requested = is_run && showing();
    return own_number;
}

/// Fills in the rest of what is known about a call before it starts.
void describe_call(const CallStart& start, const OpenCall* parent, OpenCall& call) {
    const OpenCall* const run = parent == nullptr ? nullptr : parent->around;
    call.frame = start.frame;
    call.model = start.model == ring::kNoModel && run != nullptr ? run->model : start.model;
    call.next_call = 0;
    call.is_printed = false;
    call.is_unsaved = false;
    call.is_skipped = false;
    call.has_finding = false;
    call.seq = 0;
    call.record = nullptr;
    call.passage = start.passage;
    call.stream = start.stream != 0 || run == nullptr ? start.stream : run->stream;
    call.measured = nullptr;
    call.site = kNone;
    call.before = {};
    call.after = {};
}

/// Writes the call, which is about to become the innermost, to the flight recorder ring. `number` is its own
/// number.
void write_record(ThreadState& state, OpenCall& call, const OpenCall* parent, const CallStart& start,
                  std::uint32_t number) {
    Session& session = *state.session;
    const std::uint32_t name = start.name->id;
    if (start.kind == ring::CallKind::run) session.ring()->note_run_begun();
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
    record.flags = call.sides.before.any() || call.sides.after.any() ? ring::kPrinted : 0;
    if (any_call_lines()) [[unlikely]]
        state.ring.note_line(record, line_of_call(state, call).line);
    state.ring.publish_next(record, seq);
    call.record = &record;
}

/// Opens the call, which has its place on the stack but is not counted as open yet.
void open_call(ThreadState& state, const CallStart& start, OpenCall& call) {
    call.mark = ++state.marks;
    call.cookie = start.cookie;
    if (start.cookie != nullptr) __atomic_store_n(start.cookie, call.mark.get(), __ATOMIC_RELAXED);
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

[[gnu::hot]] void close_unwound_calls(ThreadState& state, std::uintptr_t frame) {
    // Stacks grow downwards, so a call that started at or below this frame is no longer running.
    while (state.depth > 0) {
        OpenCall& left = state.open[state.depth - 1];
        if (left.frame > frame && !is_gone(state, left, frame)) return;
        for (const CallObserver* const observer : active_observers().unwind)
            observer->unwind(state, left, frame);
        if (left.kind == ring::CallKind::run) end_run(state, left);
        close_innermost_unwound(state);
    }
}

namespace {

/// Does what begin_call() promises, with the call in its place. It is not inlined, because the compiler would
/// compute the place again for each member.
[[gnu::hot, gnu::noinline]] bool begin_call_at(ThreadState& state, const CallStart& start,
                                               const OpenCall* parent, OpenCall& call) {
    const std::uint32_t own_number = number_call(state, start, parent, call);
    const ActiveObservers& observers = active_observers();
    const bool is_run = call.kind == ring::CallKind::run;
    if (is_run && may_skip_run(state, start, call)) {
        begin_skipped_run(state, start, parent, call);
        return true;
    }
    if (observers.describes_early) {
        describe_call(start, parent, call);
        for (const CallObserver* const observer : observers.identify)
            observer->identify(state, call);
    }
    const bool is_recorded =
        is_model_entry(call.kind) ? !is_run || may_select_run(options(), call.run) : select(state, call);
    if (!is_recorded && !is_model_entry(call.kind)) {
        for (const CallObserver* const observer : observers.skip)
            observer->skip(state, call);
        // A call that is not selected costs no more than this.
        if (!g_follow_unselected) return false;
    }
    if (!observers.describes_early) describe_call(start, parent, call);
    if (is_run) {
        state.counts.runs.raise();
        call.container_changes = container_changes();
        watch_all_roles();
    } else if (call.kind == ring::CallKind::lifecycle) {
        note_container_call(call);
    }
    open_call(state, start, call);
    if (state.ring && is_recorded) {
        write_record(state, call, parent, start, own_number);
    } else if (any_feature_active()) {
        call.seq = state.session->next_seq();
    }
    for (const CallObserver* const observer :
         call.is_requested ? observers.before : observers.before_unrequested)
        observer->before(state, call);
    ++state.depth;
    return true;
}

/// Ends the call, which is no longer the innermost one.
[[gnu::hot, gnu::noinline]] void end_call_at(ThreadState& state, OpenCall& call, std::int32_t result,
                                             std::uint8_t flags) {
    state.progress.steps.raise();
    if (call.kind == ring::CallKind::cpp_kernel) result = 0;  // these functions return void
    flags |= ring::kEnded;
    if (call.record != nullptr) ThreadRing::end(call.record, call.seq, result, flags, ticks());
    if (result != 0 && call.kind != ring::CallKind::lifecycle) {
        state.counts.failed.raise();
        if (call.record == nullptr && ring::returns_cuda_error(call.kind)) note_unrecorded_failure(result);
    }
    const bool is_run = call.kind == ring::CallKind::run;
    if (is_run) watch_as_run_needs(state);
    if (call.is_skipped) return end_run(state, call);
    if (is_run && result == 0) note_whole_run(state, call);
    if (call.kind == ring::CallKind::lifecycle) note_container_call(call);
    const ActiveObservers& observers = active_observers();
    for (const CallObserver* const observer :
         call.is_requested ? observers.after : observers.after_unrequested)
        observer->after(state, call, result);
    if (is_run) end_run(state, call);
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
    if (parent != nullptr && parent->is_skipped && !is_model_entry(start.kind)) return false;
    return begin_call_at(state, start, parent, *call);
}

[[gnu::hot]] void end_call(ThreadState& state, std::uintptr_t frame, std::int32_t result,
                           std::uint8_t flags) {
    // An exception unwound the calls above this one, and the program caught it before this call returned.
    if (state.depth != 0 && state.open[state.depth - 1].frame != frame) close_unwound_calls(state, frame - 1);
    if (state.depth == 0 || state.open[state.depth - 1].frame != frame) return;
    --state.depth;
    end_call_at(state, state.open[state.depth], result, flags);
}

}  // namespace aoti_dbg
