#include "shim/save/staging.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <new>

namespace aoti_dbg {
namespace {

// A multiple of a cache line, and suitable for vector instructions and devices.
constexpr std::uint64_t kAlignment = 256;

}  // namespace

std::unique_ptr<Staging> Staging::make(std::uint64_t bytes) {
    bytes -= bytes % (8 * kAlignment);
    if (bytes == 0) return nullptr;
    // Pages are allocated at the first write or when the driver registers the memory.
    void* memory =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return nullptr;
    madvise(memory, bytes, MADV_DONTFORK);
    madvise(memory, bytes, MADV_HUGEPAGE);
    std::unique_ptr<Staging> staging(new (std::nothrow) Staging(static_cast<std::byte*>(memory), bytes));
    if (staging == nullptr) munmap(memory, bytes);
    return staging;
}

Staging::~Staging() {
    munmap(memory_, capacity_);
}

/// Requires mutex_. Takes the first range that fits, so that recently used pages are reused and few pages are
/// touched.
bool Staging::take_room(std::uint64_t bytes, std::uint64_t& begin) {
    const auto range = std::find_if(free_.begin(), free_.end(),
                                    [bytes](const Range& one) { return one.end - one.begin >= bytes; });
    if (range == free_.end()) return false;
    begin = range->begin;
    range->begin += bytes;
    if (range->begin == range->end) free_.erase(range);
    return true;
}

/// Requires mutex_.
void Staging::give_back_room(const Slot& slot) {
    auto next =
        std::find_if(free_.begin(), free_.end(), [&slot](const Range& one) { return one.begin >= slot.end; });
    const bool joins_next = next != free_.end() && next->begin == slot.end;
    const bool joins_last = next != free_.begin() && std::prev(next)->end == slot.begin;
    if (joins_last && joins_next) {
        std::prev(next)->end = next->end;
        free_.erase(next);
    } else if (joins_last) {
        std::prev(next)->end = slot.end;
    } else if (joins_next) {
        next->begin = slot.begin;
    } else {
        free_.insert(next, Range{slot.begin, slot.end});
    }
}

/// Requires mutex_. Serves threads in order, because large pieces would otherwise starve.
bool Staging::wait_in_queue(std::unique_lock<std::mutex>& lock, std::uint64_t bytes,
                            std::uint32_t patience_ms, std::uint64_t& begin) {
    const std::uint64_t own = ++last_waiting_;
    waiting_.push_back(own);
    bool has_room = false;
    for (bool goes_on = waited_in_vain_at_ != times_given_back_; goes_on && !is_retired_;) {
        const bool is_first = waiting_.front() == own;
        has_room = is_first && take_room(bytes, begin);
        if (has_room) break;
        const std::uint64_t times = times_given_back_;
        goes_on = changed_.wait_for(lock, std::chrono::milliseconds(patience_ms), [&] {
            return times_given_back_ != times || is_retired_ || (!is_first && waiting_.front() == own);
        });
        if (!goes_on) waited_in_vain_at_ = times_given_back_;
    }
    waiting_.erase(std::find(waiting_.begin(), waiting_.end(), own));
    changed_.notify_all();
    return has_room;
}

Staging::Piece Staging::take(std::uint64_t bytes, std::uint32_t patience_ms) {
    const std::uint64_t length = (bytes + kAlignment - 1) / kAlignment * kAlignment;
    std::uint64_t begin = 0;
    std::unique_lock lock(mutex_);
    const bool has_room = !is_retired_ && waiting_.empty() && take_room(length, begin);
    if (!has_room && (patience_ms == 0 || !wait_in_queue(lock, length, patience_ms, begin))) return {};
    if (unused_.empty()) unused_.push_back(&slots_.emplace_back());
    Slot* slot = unused_.back();
    unused_.pop_back();
    *slot = {this, begin, begin + length};
    return {{memory_ + begin, static_cast<std::size_t>(bytes)}, slot};
}

void Staging::give_back(void* slot) {
    const Slot& given = *static_cast<Slot*>(slot);
    Staging& staging = *given.staging;
    const std::lock_guard lock(staging.mutex_);
    staging.give_back_room(given);
    staging.unused_.push_back(static_cast<Slot*>(slot));
    ++staging.times_given_back_;
    staging.changed_.notify_all();
    staging.empty_if_retired();
}

void Staging::retire() {
    const std::lock_guard lock(mutex_);
    is_retired_ = true;
    changed_.notify_all();
    empty_if_retired();
}

/// Requires mutex_. Afterwards the buffer has new pages. A device may still hold the old ones.
void Staging::empty_if_retired() {
    const bool is_empty = free_.size() == 1 && free_.front().end - free_.front().begin == capacity_;
    if (is_retired_ && is_empty) madvise(memory_, capacity_, MADV_DONTNEED);
}

}  // namespace aoti_dbg
