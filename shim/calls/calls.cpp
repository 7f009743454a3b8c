#include "shim/calls/calls.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string_view>

#include "base/message.hpp"
#include "shim/calls/models.hpp"
#include "shim/calls/session.hpp"
#include "shim/calls/thread_state.hpp"
#include "shim/calls/unrecorded.hpp"
#include "shim/calls/unwound_calls.hpp"
#include "shim/check/checks.hpp"
#include "shim/check/races.hpp"
#include "shim/measure/measuring.hpp"
#include "shim/runtime/clock.hpp"
#include "shim/runtime/names.hpp"
#include "shim/runtime/process.hpp"
#include "shim/tensors/measured_model.hpp"
#include "shim/tensors/tensor_lifetimes.hpp"

namespace aoti_dbg {
namespace {

constexpr std::size_t kIndent = 2;  // blanks a level, for calls inside of calls

/// Returns whether the line is in the log.
bool print_line(ThreadState& state, const std::string& line, std::uint32_t nesting) {
    LineLog* log = state.session->log();
    if (log == nullptr) return false;
    if (nesting == 0) return log->write(line.data(), line.size());
    char text[2048];
    const std::size_t blanks = std::min<std::size_t>(nesting * kIndent, 40);
    const std::size_t length = std::min(line.size(), sizeof text - blanks);
    memset(text, ' ', blanks);
    memcpy(text + blanks, line.data(), length);
    return log->write(text, blanks + length);
}

/// Whether the frame of `call`, which lies above `frame` on this thread's stack, is no longer its frame.
bool is_gone(ThreadState& state, const OpenCall& call, std::uintptr_t frame) {
    // On another stack (a fiber's, perhaps freed by now) it must not be read.
    if (call.cookie == nullptr || readable_stack_words(state, frame) == 0) return false;
    if (reinterpret_cast<std::uintptr_t>(call.cookie.get()) >= state.stack_high) return false;
    return is_overwritten(call);
}

/// Counts a call and says whether it is on record; what else is done with it goes to `sides`. `number` is
/// that of the model's own call that it is or lies in.
bool decide(ThreadState& state, const Treatment& treatment, std::uint32_t run, std::uint32_t number, bool own,
            Selected& sides) {
    const auto known = [](std::uint32_t value, std::uint32_t none) {
        return value == none ? std::nullopt : std::optional<std::uint64_t>(value);
    };
    if (state.counts.calls.get() == 0) state.session->note_first_call();
    state.counts.calls.raise();
    // Then to be on record is all that there is.
    if (!showing() && (own || options().scope == Scope::all)) return true;
    if (!treatment.wants(known(run, ring::kNoRun), known(number, ring::kNoCall))) {
        // Whichever it is that faults or hangs.
        if (options().records_all() || checking() || ordering()) return true;
        state.counts.filtered.raise();
        return false;
    }
    if (!own && options().scope == Scope::model) {
        state.counts.children.raise();
        return true;
    }
    sides = treatment.sides();
    return true;
}

/// `able`: something can be done with its tensors. The name stands in for what a level cannot do here.
TensorsWanted wanted_of(const Levels& levels, const Check& check, bool able) {
    TensorsWanted tensors = {levels.stats && able, able ? check : Check{}, levels.files && able};
    tensors.named = levels.names || levels.stats != tensors.printed || levels.files != tensors.saved;
    return tensors;
}

/// Of the inputs of a run and its outputs; PyTorch prints the inputs whatever its filter says.
TensorsWanted wanted_at_end(std::uint32_t run, Side other_side) {
    if (!showing() || !may_select_run(options(), run)) return {};
    const Levels& levels = options().levels;
    const bool is_wanted = options().side != other_side;
    return {levels.stats && is_wanted, options().check.value_or(default_check(options(), levels)),
            levels.files && is_wanted};
}

/// Puts the call, which is about to become the innermost, into the flight ring. `number` is its own.
void write_record(ThreadState& state, OpenCall& call, const OpenCall* parent, const CallStart& start,
                  std::uint32_t number, bool printed) {
    Session& session = *state.session;
    const std::uint32_t name = start.name->id;
    if (start.kind == ring::CallKind::run) session.ring()->note_run_begun();
    session.publish_name(name);
    if (start.launch.context != 0) session.publish_contexts();
    const std::uint64_t seq = call.seq = session.next_seq();
    // Into its place at once: every launch comes here.
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
    record.flags = printed ? ring::kPrinted : 0;
    state.ring.publish_next(record, seq);
    call.record = &record;
}

void begin_measured_run(ThreadState& state, const MeasuredModel& model, OpenCall& run, std::uint32_t number) {
    if (run.passage.frame != nullptr) {
        run.stream = run.passage.frame->integer(5);
        const auto* const inputs = reinterpret_cast<const TensorHandle*>(run.passage.frame->integer(1));
        note_inputs(state, model, run, inputs, run.passage.frame->integer(2));
    }
    if (const TensorsWanted wanted = wanted_at_end(number, Side::after); wanted.any())
        measure_ends(state, model, run, EventSide::inputs, wanted);
}

}  // namespace

void show_name(ThreadState& state, const OpenCall& call, When when) {
    if (measuring()) return report_name(state, call, when);
    const std::string& line = when == When::before ? call.name->before_line : call.name->after_line;
    if (!print_line(state, line, nesting_of(state)) || call.is_printed) return;
    call.is_printed = true;
    state.counts.printed.raise();
}

std::uint32_t nesting_of(const ThreadState& state) {
    std::uint32_t nesting = 0;
    for (std::uint32_t i = 0; i < state.depth; ++i)
        nesting += is_model_entry(state.open[i].kind) ? 0 : 1;
    return nesting;
}

[[gnu::hot]] void settle(ThreadState& state, std::uintptr_t frame) {
    // Stacks grow downwards: what was begun at or below this frame can no longer be running.
    while (state.depth > 0) {
        const OpenCall& left = state.open[state.depth - 1];
        if (left.frame > frame && !is_gone(state, left, frame)) return;
        if (checking()) check_left(state, frame);
        if (left.kind == ring::CallKind::run && looking()) end_left_run(state, left);
        leave_innermost(state);
    }
}

[[gnu::hot]] bool begin_call(ThreadState& state, const CallStart& start) {
    state.standing.steps.raise();
    state.standing.stack.store(start.frame, std::memory_order_relaxed);
    if (state.depth == kDeepest) [[unlikely]] {
        state.counts.deep.raise();
        return false;
    }
    const OpenCall* parent = state.top();
    OpenCall* run = parent == nullptr ? nullptr : parent->around;
    const bool is_run = start.kind == ring::CallKind::run;
    const bool is_call = !is_model_entry(start.kind);
    const bool own = start.by_model && (parent == nullptr || is_model_entry(parent->kind));

    const std::uint32_t run_number =
        is_run ? state.session->next_run() : (run != nullptr ? run->run : ring::kNoRun);
    const std::uint32_t own_number = own && is_call && run != nullptr ? run->next_call++ : ring::kNoCall;
    const std::uint32_t number = own || !is_call || parent == nullptr ? own_number : parent->number;
    const std::uint16_t model = start.model == ring::kNoModel && run != nullptr ? run->model : start.model;
    MeasuredModel* measured = looking() && start.passage.any() ? measured_model(model) : nullptr;
    // Sites are told by order, so the calls that are not selected count as well.
    const std::uint32_t site =
        measured != nullptr && is_call && own && run != nullptr
            ? match_site(state, *measured, model, run_number, *start.name, start.passage)
            : kNone;
    Selected sides;
    const bool is_recorded = is_call ? decide(state, start.name->treatment, run_number, number, own, sides)
                                     : !is_run || may_select_run(options(), run_number);
    if (is_call) {
        // What it does to memory nobody will see.
        if (measuring() && !is_recorded && run != nullptr && run == parent) forget_measured(state);
        // Whoever is not asked for is passed by at no more cost than this.
        if (!is_recorded && !g_follow_unselected) return false;
    }
    if (is_run) {
        state.counts.runs.raise();
        watch_all_roles();
    }

    OpenCall& call = state.open[state.depth];
    call.frame = start.frame;
    call.name = start.name;
    call.kind = start.kind;
    call.model = model;
    call.run = run_number;
    call.number = number;
    call.next_call = 0;
    call.is_printed = false;
    call.around = is_run ? &call : run;
    call.seq = 0;
    call.record = nullptr;
    call.mark = ++state.marks;
    call.cookie = start.cookie;
    if (start.cookie != nullptr) __atomic_store_n(start.cookie, call.mark.get(), __ATOMIC_RELAXED);
    if (state.ring && is_recorded) {
        write_record(state, call, parent, start, own_number, sides.before.any() || sides.after.any());
    } else if (looking()) {
        call.seq = state.session->next_seq();
    }
    call.site = site;
    call.passage = start.passage;
    call.stream = start.stream != 0 || run == nullptr ? start.stream : run->stream;
    TensorsWanted before;
    call.after = before;
    if (showing()) {
        // Outside of a run nobody knows the stream that a device's tensors are ready on.
        const bool measurable = measured != nullptr && (run != nullptr || !measured->is_on_cuda());
        const bool able = measurable && has_arguments(start.passage);
        before = wanted_of(sides.before, sides.check, able);
        call.after = wanted_of(sides.after, sides.check, able);
        if (before.named) show_name(state, call, When::before);
    }
    if (is_run && checking()) check_run(state, measured, call);
    if (measured != nullptr && is_run) begin_measured_run(state, *measured, call, run_number);
    if (measured != nullptr && checking() && call.passage.parameters != nullptr)
        check_launch(state, *measured, call);
    if (measured != nullptr && ordering() && is_call && own)
        races::note_call(state, *measured, call, When::before);
    if (measured != nullptr && before.any()) measure_call(state, *measured, call, When::before, before, 0);
    ++state.depth;
    return true;
}

[[gnu::hot]] void end_call(ThreadState& state, std::uintptr_t frame, std::int32_t result,
                           std::uint8_t flags) {
    // What lies on top of it was left by an exception that was caught before this call came back.
    if (state.depth != 0 && state.open[state.depth - 1].frame != frame) settle(state, frame - 1);
    if (state.depth == 0 || state.open[state.depth - 1].frame != frame) return;
    const OpenCall& call = state.open[--state.depth];
    state.standing.steps.raise();
    if (call.kind == ring::CallKind::cpp_kernel) result = 0;  // these return nothing
    flags |= ring::kEnded;
    if (call.record != nullptr) ThreadRing::end(call.record, call.seq, result, flags, ticks());
    if (result != 0 && call.kind != ring::CallKind::lifecycle) {
        state.counts.failed.raise();
        if (call.record == nullptr && ring::returns_cuda_error(call.kind)) note_unrecorded_failure(result);
    }
    if (call.after.named) show_name(state, call, When::after);
    if (!looking()) return;
    MeasuredModel* measured = call.passage.any() ? measured_model(call.model) : nullptr;
    if (checking() && (result != 0 || is_model_entry(call.kind))) check_result(state, measured, call, result);
    if (measured != nullptr && result == 0 && call.passage.slot != nullptr &&
        call.passage.slot->gives_tensors) {
        note_returned_tensors(state, *measured, call);
        if (ordering()) races::note_call(state, *measured, call, When::after);
    }
    if (call.kind == ring::CallKind::run) {
        watch_all_roles();
        note_end_of_run(state, call, result);
        if (measured != nullptr && result == 0) {
            const TensorsWanted wanted = wanted_at_end(call.run, Side::before);
            if (wanted.any()) measure_ends(state, *measured, call, EventSide::outputs, wanted);
        }
        end_measured_run(state, call);
    } else if (measured != nullptr && call.after.any()) {
        measure_call(state, *measured, call, When::after, call.after, result);
    } else if (showing() && innermost_run(state) == state.top()) {
        forget_measured(state);
    }
}

}  // namespace aoti_dbg
