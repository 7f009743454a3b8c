#include "shim/measure/event_queue.hpp"

#include <utility>

namespace aoti_dbg {

bool EventQueue::put(const SeenCall& call, std::vector<SeenArgument>& arguments) {
    const std::lock_guard lock(mutex_);
    if (calls_.empty()) {
        calls_.resize(kMostCalls);
        arguments_.resize(kMostArguments);
    }
    const std::uint64_t next = puts_.load(std::memory_order_relaxed);
    const bool fits = next - first_call_ < kMostCalls &&
                      next_argument_ - first_argument_ + arguments.size() <= kMostArguments;
    if (!fits) return false;
    for (SeenArgument& argument : arguments)
        arguments_[next_argument_++ % kMostArguments] = std::move(argument);
    calls_[next % kMostCalls] = {call, static_cast<std::uint32_t>(arguments.size())};
    puts_.store(next + 1, std::memory_order_release);
    arguments.clear();
    return true;
}

bool EventQueue::take(SeenCall& call, std::vector<SeenArgument>& arguments) {
    arguments.clear();
    const std::lock_guard lock(mutex_);
    if (first_call_ == puts_.load(std::memory_order_relaxed)) return false;
    const Entry& entry = calls_[first_call_++ % kMostCalls];
    call = entry.call;
    for (std::uint32_t i = 0; i < entry.arguments; ++i)
        arguments.push_back(std::move(arguments_[first_argument_++ % kMostArguments]));
    return true;
}

}  // namespace aoti_dbg
