#include "shim/measure/event_queue.hpp"

#include <utility>

namespace aoti_dbg {

const char* text_of(WhyNot why) {
    switch (why) {
        case WhyNot::facts:
            return "";
        case WhyNot::no_memory:
            return "its data pointer is null";
        case WhyNot::no_context:
            return "no CUDA context is current";
        case WhyNot::other_device:
            return "it is on a different device than the call's stream";
        case WhyNot::no_room:
            return "results arrived faster than they could be written";
    }
    return "";
}

bool EventQueue::put(const SeenCall& call, SeenArguments& arguments) {
    const std::lock_guard lock(mutex_);
    SeenArguments& all = coming_.arguments;
    if (coming_.calls.capacity() == 0) {
        coming_.calls.reserve(kMostCalls);
        all.list.reserve(kMostArguments);
        all.scalars.reserve(kMostArguments);
    }
    const bool fits =
        coming_.calls.size() < kMostCalls && all.list.size() + arguments.list.size() <= kMostArguments;
    if (!fits) return false;
    // The only step that may allocate, and throw, is first: then no argument of the queue refers to a lost
    // result.
    for (std::unique_ptr<MeasuredOnHost>& measured : arguments.on_host)
        all.on_host.push_back(std::move(measured));
    all.list.insert(all.list.end(), arguments.list.begin(), arguments.list.end());
    all.scalars.insert(all.scalars.end(), arguments.scalars.begin(), arguments.scalars.end());
    coming_.calls.push_back({call, static_cast<std::uint32_t>(arguments.list.size()),
                             static_cast<std::uint32_t>(arguments.scalars.size())});
    puts_.store(puts_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    arguments.clear();
    return true;
}

EventQueue::Taken EventQueue::peek() const {
    if (next_call_ == going_.calls.size()) return {};
    const Entry& entry = going_.calls[next_call_];
    return {&entry.call,
            {going_.arguments.list.data() + next_argument_, entry.arguments},
            {going_.arguments.scalars.data() + next_scalar_, entry.scalars}};
}

EventQueue::Taken EventQueue::take() {
    if (next_call_ == going_.calls.size()) {
        going_.calls.clear();
        going_.arguments.clear();
        next_call_ = next_argument_ = next_scalar_ = 0;
        const std::lock_guard lock(mutex_);
        std::swap(coming_, going_);
    }
    const Taken taken = peek();
    if (taken.call == nullptr) return taken;
    ++next_call_;
    next_argument_ += taken.arguments.size();
    next_scalar_ += taken.scalars.size();
    return taken;
}

}  // namespace aoti_dbg
