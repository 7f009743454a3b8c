#include "shim/faults/stalled_threads.hpp"

#include <algorithm>
#include <iterator>

#include "serializer/hang.hpp"
#include "shim/calls/session.hpp"
#include "shim/calls/thread_state.hpp"
#include "shim/runtime/names.hpp"

namespace aoti_dbg {

bool StalledThreads::look(Session& session, std::uint64_t elapsed, bool& came_back) {
    ++look_;
    shortest_ = UINT64_MAX;
    const bool has_looked = session.for_each_thread([&](const ThreadState& state) {
        const std::uint32_t tid = state.progress.tid.load(std::memory_order_acquire);
        if (tid != 0) came_back |= note(tid, state.progress, elapsed);
    });
    if (!has_looked) return false;
    for (auto seen = threads_.begin(); seen != threads_.end();) {
        came_back |= seen->second.look != look_ && seen->second.is_reported;
        seen = seen->second.look == look_ ? std::next(seen) : threads_.erase(seen);
    }
    return true;
}

/// Returns whether the thread was reported and moves again.
bool StalledThreads::note(std::uint32_t tid, const ThreadProgress& progress, std::uint64_t elapsed) {
    SeenThread& seen = threads_[tid];
    const std::uint64_t steps = progress.steps.get();
    bool came_back = false;
    if (steps != seen.steps) {
        came_back = seen.is_reported;
        seen = SeenThread{};
        seen.steps = steps;
    } else {
        seen.stalled_for += elapsed;
    }
    seen.look = look_;
    seen.stack = progress.stack.load(std::memory_order_relaxed);
    shortest_ = std::min(shortest_, seen.stalled_for);
    return note_question(seen, progress, elapsed) || came_back;
}

/// Returns whether the thread was reported as asking and no longer asks.
bool StalledThreads::note_question(SeenThread& seen, const ThreadProgress& progress, std::uint64_t elapsed) {
    const Name* const question = progress.question.load(std::memory_order_acquire);
    const std::uint64_t asked_of = progress.asked_of.load(std::memory_order_relaxed);
    const std::uint64_t answers = progress.answers.get();
    if (question != seen.question || asked_of != seen.asked_of) {
        seen.question = question;
        seen.asked_of = asked_of;
        seen.asked = seen.silent = 0;
    } else if (answers != seen.answers) {
        // A thread that polls only now and then does not wait for the answer.
        seen.asked = seen.silent < limit_ / 2 ? seen.asked + seen.silent + elapsed : 0;
        if (seen.asked == 0) seen.is_judged = seen.is_reported;
        seen.silent = 0;
    } else {
        seen.silent += elapsed;
    }
    seen.stream = progress.stream.load(std::memory_order_relaxed);
    seen.answers = answers;
    if (!seen.is_reported_as_polling || seen.asks(limit_) != 0) return false;
    seen.is_reported = seen.is_reported_as_polling = false;
    return true;
}

std::vector<std::uint32_t> StalledThreads::unjudged() const {
    std::vector<std::uint32_t> found;
    for (const auto& [tid, seen] : threads_)
        if (!seen.is_judged && hangs(seen)) found.push_back(tid);
    return found;
}

bool StalledThreads::judge(std::uint32_t tid, const ring::Contents& ring) {
    SeenThread& seen = threads_[tid];
    const bool is_inside = !open_calls(ring, 0, tid).empty();
    // A thread that polls may not have polled for long enough yet.
    const bool may_ask_on = seen.question != nullptr && seen.silent < limit_;
    seen.is_reported_as_polling = !is_inside && shortest_ >= limit_ && seen.asks(limit_) >= limit_;
    seen.is_reported = is_inside || seen.is_reported_as_polling;
    seen.is_judged = seen.is_reported || !may_ask_on;
    return seen.is_reported;
}

bool StalledThreads::forget_outside(const ring::Contents& ring) {
    bool has_one = false;
    for (auto& [tid, seen] : threads_) {
        if (!seen.is_reported || seen.is_reported_as_polling || !open_calls(ring, 0, tid).empty()) continue;
        seen.is_reported = false;
        has_one = true;
    }
    return has_one;
}

bool StalledThreads::is_any_reported() const {
    return std::any_of(threads_.begin(), threads_.end(),
                       [](const auto& one) { return one.second.is_reported; });
}

bool StalledThreads::is_any_asking() const {
    return std::any_of(threads_.begin(), threads_.end(), [this](const auto& one) {
        const std::uint64_t asked = one.second.asks(limit_);
        return asked != 0 && asked < limit_;
    });
}

}  // namespace aoti_dbg
