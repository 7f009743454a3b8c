// See call_times.hpp.
#include "shim/timeline/call_times.hpp"

#include <sys/mman.h>

#include <new>

namespace aoti_dbg {

std::unique_ptr<CallTimes> CallTimes::create(std::uint32_t thread) {
    // The kernel provides pages when they are first written, so a thread with few calls needs few.
    void* const entries = mmap(nullptr, kCapacity * sizeof(Entry), PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (entries == MAP_FAILED) return nullptr;
    return std::unique_ptr<CallTimes>(new (std::nothrow) CallTimes(thread, static_cast<Entry*>(entries)));
}

CallTimes::~CallTimes() {
    munmap(entries_, kCapacity * sizeof(Entry));
}

bool CallTimes::is_retired_since(std::uint64_t time) const {
    const std::uint64_t retired = retired_.load(std::memory_order_acquire);
    return retired != 0 && retired < time;
}

void CallTimes::reuse(std::uint32_t thread) {
    count_.store(0, std::memory_order_release);
    open_ = kNone;
    retired_.store(0, std::memory_order_relaxed);
    thread_.store(thread, std::memory_order_release);
}

void CallTimes::begin(std::uint64_t now, std::uint64_t seq) {
    const std::uint64_t position = count_.load(std::memory_order_relaxed);
    Entry& entry = at(position);
    // The order shows a reader that the entry is being overwritten.
    entry.begin.store(now, std::memory_order_release);
    entry.end.store(kOpen, std::memory_order_release);
    entry.seq.store(seq, std::memory_order_release);
    entry.parent.store(open_, std::memory_order_release);
    open_ = position;
    count_.store(position + 1, std::memory_order_release);
}

void CallTimes::end(std::uint64_t now) {
    if (open_ == kNone) return;
    // A call with more calls inside than there are entries is overwritten.
    if (!is_kept(open_)) {
        open_ = kNone;
        return;
    }
    Entry& entry = at(open_);
    entry.end.store(now, std::memory_order_release);
    open_ = entry.parent.load(std::memory_order_relaxed);
}

/// Leaves a margin, because the thread may be writing the next entries.
bool CallTimes::is_kept(std::uint64_t position) const {
    constexpr std::uint64_t kMargin = 1024;
    return position + kCapacity - kMargin > count_.load(std::memory_order_acquire);
}

/// Returns the position of the last call that began by then, or kNone. Calls are in the order of their
/// begin.
std::uint64_t CallTimes::last_begun_by(std::uint64_t time) const {
    const std::uint64_t count = count_.load(std::memory_order_acquire);
    std::uint64_t low = count > kCapacity ? count - kCapacity + 1024 : 0;
    std::uint64_t high = count;
    const std::uint64_t first = low;
    while (low < high) {
        const std::uint64_t middle = low + (high - low) / 2;
        if (at(middle).begin.load(std::memory_order_relaxed) <= time) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low == first ? kNone : low - 1;
}

std::uint64_t CallTimes::find(std::uint64_t start, std::uint64_t end) const {
    // If the last call ended before `start`, so did all calls inside the same parent.
    for (std::uint64_t position = last_begun_by(end); position != kNone;) {
        const Entry& entry = at(position);
        const bool ran = entry.end.load(std::memory_order_acquire) >= start;
        const std::uint64_t seq = entry.seq.load(std::memory_order_acquire);
        const std::uint64_t parent = entry.parent.load(std::memory_order_acquire);
        // What was read counts only if it was not overwritten meanwhile.
        if (!is_kept(position)) return 0;
        if (ran) return seq;
        position = parent;
    }
    return 0;
}

}  // namespace aoti_dbg
