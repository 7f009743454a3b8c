#include "shim/record/first_events.hpp"

namespace aoti_dbg {
namespace {

constexpr std::size_t kMostThreads = 4096;
constexpr std::size_t kMostOpen = 64;  // open calls that a thread's state keeps

}  // namespace

bool FirstEvents::is_first(const MeasuredCall& event) {
    if (event.side != EventSide::before && event.side != EventSide::after) return false;
    // Ended threads are not reported here. A program that creates many threads would otherwise fill the
    // memory.
    if (threads_.size() >= kMostThreads && !threads_.contains(event.thread)) threads_.clear();
    Thread& thread = threads_[event.thread];
    std::vector<std::uint64_t>& open = thread.open;
    // An exception unwound the calls inside this one.
    while (!open.empty() && open.back() > event.sequence)
        open.pop_back();
    const bool is_open = !open.empty() && open.back() == event.sequence;
    if (event.side == EventSide::before) {
        if (is_open) return false;
        if (open.size() == kMostOpen) open.erase(open.begin());
        open.push_back(event.sequence);
        return true;
    }
    if (is_open) open.pop_back();
    const bool is_second_event_after = thread.ended == event.sequence;
    thread.ended = event.sequence;
    return !is_open && !is_second_event_after;
}

}  // namespace aoti_dbg
