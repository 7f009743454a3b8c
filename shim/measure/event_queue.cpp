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
    if (coming_.calls.capacity() == 0) {
        coming_.calls.reserve(kMostCalls);
        coming_.arguments.reserve(kMostArguments);
        coming_.scalars.reserve(kMostArguments);
    }
    const bool fits = coming_.calls.size() < kMostCalls &&
                      coming_.arguments.size() + arguments.list.size() <= kMostArguments;
    if (!fits) return false;
    for (SeenArgument& argument : arguments.list)
        coming_.arguments.push_back(std::move(argument));
    coming_.scalars.insert(coming_.scalars.end(), arguments.scalars.begin(), arguments.scalars.end());
    coming_.calls.push_back({call, static_cast<std::uint32_t>(arguments.list.size()),
                             static_cast<std::uint32_t>(arguments.scalars.size())});
    puts_.store(puts_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    arguments.clear();
    return true;
}

EventQueue::Taken EventQueue::at(const Cursor& cursor) const {
    if (cursor.call == going_.calls.size()) return {};
    const Entry& entry = going_.calls[cursor.call];
    return {&entry.call,
            {going_.arguments.data() + cursor.argument, entry.arguments},
            {going_.scalars.data() + cursor.scalar, entry.scalars}};
}

EventQueue::Taken EventQueue::pass(Cursor& cursor) const {
    const Taken taken = at(cursor);
    if (taken.call == nullptr) return taken;
    ++cursor.call;
    cursor.argument += taken.arguments.size();
    cursor.scalar += taken.scalars.size();
    return taken;
}

EventQueue::Taken EventQueue::take() {
    if (left() == 0) {
        going_.calls.clear();
        going_.arguments.clear();
        going_.scalars.clear();
        next_ = followed_ = {};
        const std::lock_guard lock(mutex_);
        std::swap(coming_, going_);
    }
    return pass(next_);
}

EventQueue::Taken EventQueue::follow() {
    return pass(followed_);
}

}  // namespace aoti_dbg
