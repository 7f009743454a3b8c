#include "shim/calls/calls.hpp"

#include <optional>

#include "shim/calls/call_observer.hpp"
#include "shim/calls/call_path.hpp"
#include "shim/calls/session.hpp"
#include "shim/calls/skipped_runs.hpp"
#include "shim/calls/thread_state.hpp"
#include "shim/calls/unwound_calls.hpp"
#include "shim/runtime/names.hpp"
#include "shim/runtime/process.hpp"

namespace aoti_dbg {

using namespace call_path;

namespace {

/// Sets the members that a run or another entry into a model needs first. It has no number in a run.
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
[[gnu::hot, gnu::noinline]] bool begin_entry(ThreadState& state, const CallStart& start) {
    note_progress(state, start);
    OpenCall* const parent = state.top();
    OpenCall* const place = place_inside(state, parent);
    if (place == nullptr) return false;
    OpenCall& call = *place;
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
    start_call<By::any>(state, start, parent, call, is_recorded, ring::kNoCall);
    return true;
}

}  // namespace

void call_path::end_entry(ThreadState& state, OpenCall& entry, std::int32_t result) {
    const bool is_run = entry.kind == ring::CallKind::run;
    if (is_run) watch_as_run_needs(state);
    if (entry.is_skipped) return end_run(state, entry);
    if (is_run && result == 0) note_whole_run(state, entry);
    if (!is_run) note_container_call(entry);
    for (const CallObserver* const observer : active_observers().after_of(entry))
        observer->after(state, entry, result);
    if (is_run) end_run(state, entry);
}

bool call_path::is_in_windows(const OpenCall& call) {
    const auto known = [](std::uint32_t value, std::uint32_t none) {
        return value == none ? std::nullopt : std::optional<std::uint64_t>(value);
    };
    return call.name->treatment.wants(known(call.run, ring::kNoRun), known(call.number, ring::kNoCall));
}

[[gnu::hot]] bool begin_call(ThreadState& state, const CallStart& start) {
    return is_model_entry(start.kind) ? begin_entry(state, start)
                                      : call_path::begin<By::any>(state, start, state.top());
}

[[gnu::hot]] void end_call(ThreadState& state, std::uintptr_t frame, std::int32_t result,
                           std::uint8_t flags) {
    call_path::end<By::any>(state, frame, result, flags);
}

}  // namespace aoti_dbg
