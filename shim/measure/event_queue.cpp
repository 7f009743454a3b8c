#include "shim/measure/event_queue.hpp"

#include <utility>

namespace aoti_dbg {

bool EventQueue::put(const SeenCall& call, std::vector<SeenArgument>& arguments) {
    const std::lock_guard lock(mutex_);
    if (coming_.calls.capacity() == 0) {
        coming_.calls.reserve(kMostCalls);
        coming_.arguments.reserve(kMostArguments);
    }
    const bool fits =
        coming_.calls.size() < kMostCalls && coming_.arguments.size() + arguments.size() <= kMostArguments;
    if (!fits) return false;
    for (SeenArgument& argument : arguments)
        coming_.arguments.push_back(std::move(argument));
    coming_.calls.push_back({call, static_cast<std::uint32_t>(arguments.size())});
    puts_.store(puts_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    arguments.clear();
    return true;
}

EventQueue::Taken EventQueue::peek() {
    if (next_call_ == going_.calls.size()) return {};
    Entry& entry = going_.calls[next_call_];
    return {&entry.call, {going_.arguments.data() + next_argument_, entry.arguments}};
}

EventQueue::Taken EventQueue::take() {
    if (next_call_ == going_.calls.size()) {
        going_.calls.clear();
        going_.arguments.clear();
        next_call_ = next_argument_ = 0;
        const std::lock_guard lock(mutex_);
        std::swap(coming_, going_);
    }
    const Taken taken = peek();
    if (taken.call == nullptr) return taken;
    ++next_call_;
    next_argument_ += taken.arguments.size();
    return taken;
}

}  // namespace aoti_dbg
