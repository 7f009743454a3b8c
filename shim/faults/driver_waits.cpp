#include "shim/faults/driver_waits.hpp"

#include <algorithm>
#include <atomic>
#include <limits>
#include <optional>
#include <string_view>

#include "base/errno_keeper.hpp"
#include "shim/calls/session.hpp"
#include "shim/calls/thread_state.hpp"
#include "shim/calls/unrecorded.hpp"
#include "shim/faults/completion_markers.hpp"
#include "shim/runtime/clock.hpp"
#include "shim/runtime/driver_api.hpp"
#include "shim/runtime/launch_count.hpp"
#include "shim/runtime/names.hpp"

namespace aoti_dbg {
namespace {

/// The stream on which an event was last recorded, and the last call before that.
struct RecordedEvent {
    std::atomic<std::uint64_t> event{0};
    std::atomic<std::uint64_t> stream{0};
    std::atomic<std::uint64_t> seq{0};
    std::atomic<std::uint8_t> context{0};  // the stream's context; 0: unknown
};

// If two events share a place, the later one wins.
constexpr std::size_t kEvents = 1024;
RecordedEvent g_events[kEvents];

RecordedEvent& place_of(std::uint64_t event) {
    constexpr std::uint64_t kSpread = 0x9e3779b97f4a7c15U;
    constexpr unsigned kBits = 10;
    static_assert(kEvents == std::size_t{1} << kBits);
    return g_events[(event * kSpread) >> (64U - kBits)];
}

/// What an event wait waits for: the stream on which the event was recorded, and the call before it.
struct Recorded {
    std::uint64_t stream;
    std::uint64_t seq;
    std::uint8_t context;
};

std::optional<Recorded> find_event(std::uint64_t event) {
    const RecordedEvent& place = place_of(event);
    if (place.event.load(std::memory_order_acquire) != event) return std::nullopt;
    return Recorded{place.stream.load(std::memory_order_relaxed), place.seq.load(std::memory_order_relaxed),
                    place.context.load(std::memory_order_relaxed)};
}

/// Returns the context of a wait that is not for an event, or 0 if it is unknown.
std::uint8_t context_of(const Awaited& awaited) {
    if (awaited.is_anywhere) return 0;
    if (awaited.context != nullptr) return number_of_context(awaited.context);
    return context_number(reinterpret_cast<const void*>(awaited.stream));
}

/// Returns the thread's state if the process has a session. A process that only waits has launched nothing
/// worth recording, so this creates no session.
ThreadState* state_of_recorded() {
    if (!observing() || wiped_page().session.load(std::memory_order_acquire) == nullptr) return nullptr;
    ThreadState* const state = thread_state();
    return state != nullptr && state->ring ? state : nullptr;
}

ring::Record record_of(ThreadState& state, const Name& name, const Awaited& awaited) {
    Session& session = *state.session;
    session.publish_name(name.id);
    ring::Record record{};
    record.context = awaited.event != 0 ? std::uint8_t{0} : context_of(awaited);
    session.publish_contexts();
    record.seq = session.next_seq();
    record.begin_ticks = ticks();
    record.stream = awaited.stream;
    const std::optional<Recorded> recorded = awaited.event != 0 ? find_event(awaited.event) : std::nullopt;
    if (recorded) {
        record.stream = recorded->stream;
        record.context = recorded->context;
        const std::uint64_t behind =
            std::max<std::uint64_t>(record.seq - std::min(recorded->seq, record.seq), 1);
        record.launch = static_cast<std::uint32_t>(
            std::min<std::uint64_t>(behind, std::numeric_limits<std::uint32_t>::max()));
    } else if (awaited.event != 0) {
        // No call is known to precede the event.
        record.launch = std::numeric_limits<std::uint32_t>::max();
    }
    const OpenCall* const parent = state.top();
    record.name = name.id;
    record.run = parent == nullptr ? ring::kNoRun : parent->run;
    record.call = ring::kNoCall;
    record.depth = static_cast<std::uint8_t>(state.depth);
    if (parent != nullptr && parent->seq != 0)
        record.back = static_cast<std::uint32_t>(record.seq - parent->seq);
    record.model = parent == nullptr ? ring::kNoModel : parent->model;
    record.kind = ring::CallKind::wait;
    return record;
}

/// Returns the name of a hooked function without the suffixes of its versions and twins. It is looked up
/// once.
const Name& name_of(Hook hook) {
    static std::atomic<const Name*> names[kHookCount];
    std::atomic<const Name*>& known = names[static_cast<unsigned>(hook)];
    if (const Name* const name = known.load(std::memory_order_acquire); name != nullptr) return *name;
    const std::string_view exported(hook_name(hook));
    const Name* const name = intern_name(exported.substr(0, exported.find('_')), {});
    known.store(name, std::memory_order_release);
    return *name;
}

}  // namespace

RecordedWait begin_wait(Hook hook, const Awaited& awaited) {
    const ErrnoKeeper errno_keeper;
    try {
        ThreadState* const state = state_of_recorded();
        if (state == nullptr) return {};
        state->progress.steps.raise();
        state->progress.stack.store(reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)),
                                    std::memory_order_relaxed);
        state->progress.question.store(nullptr, std::memory_order_relaxed);
        const ring::Record record = record_of(*state, name_of(hook), awaited);
        state->session->ring()->note_moment();
        return {state->ring.begin(record), record.seq};
    } catch (...) {
        switch_off("out of memory while recording a call that waits");
        return {};
    }
}

void end_wait(const RecordedWait& wait, std::int32_t result) {
    if (wait.record == nullptr) return note_unrecorded_failure(result);
    ThreadState* const state = observing() ? thread_state_if_any() : nullptr;
    if (state == nullptr) return;
    note_result(*state->session, result);
    ThreadRing::end(wait.record, wait.seq, result, ring::kEnded, ticks());
    state->progress.steps.raise();
}

void note_event_recorded(std::uint64_t event, std::uint64_t stream) {
    Session* const session = observing() ? wiped_page().session.load(std::memory_order_acquire) : nullptr;
    if (session == nullptr) return;
    RecordedEvent& place = place_of(event);
    place.event.store(0, std::memory_order_relaxed);
    place.stream.store(stream, std::memory_order_relaxed);
    place.seq.store(session->last_seq(), std::memory_order_relaxed);
    place.context.store(context_number(reinterpret_cast<const void*>(stream)), std::memory_order_relaxed);
    place.event.store(event, std::memory_order_release);
    // The event is recorded again, so a later query asks about something else.
    ThreadState* const state = thread_state_if_any();
    if (state == nullptr || state->progress.asked_of.load(std::memory_order_relaxed) != event) return;
    state->progress.question.store(nullptr, std::memory_order_relaxed);
    state->progress.steps.raise();
}

void note_answer(Hook hook, Awaited awaited, std::int32_t result) {
    const ErrnoKeeper errno_keeper;
    try {
        ThreadState* const state = state_of_recorded();
        if (state == nullptr) return;
        ThreadProgress& progress = state->progress;
        const bool was_asked = progress.question.load(std::memory_order_relaxed) != nullptr;
        const std::uint64_t of = awaited.event != 0 ? awaited.event : awaited.stream;
        if (result == CUDA_ERROR_NOT_READY) {
            const std::optional<Recorded> recorded =
                awaited.event != 0 ? find_event(awaited.event) : std::nullopt;
            if (recorded) awaited.stream = recorded->stream;
            progress.asked_of.store(of, std::memory_order_relaxed);
            progress.stack.store(reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)),
                                 std::memory_order_relaxed);
            progress.stream.store(awaited.stream, std::memory_order_relaxed);
            progress.question.store(&name_of(hook), std::memory_order_release);
            progress.answers.raise();
            return;
        }
        if (!was_asked || progress.asked_of.load(std::memory_order_relaxed) != of) return;
        progress.question.store(nullptr, std::memory_order_relaxed);
        progress.steps.raise();
        note_result(*state->session, result);
        // The answer shows what has finished, as a completed wait does.
        const ring::Record record = record_of(*state, name_of(hook), awaited);
        ThreadRing::end(state->ring.begin(record), record.seq, result, ring::kEnded, ticks());
    } catch (...) {
        switch_off("out of memory while recording a device query");
    }
}

}  // namespace aoti_dbg
