#include "shim/measure/staging.hpp"

#include <sys/mman.h>

#include <chrono>
#include <new>

namespace aoti_dbg {
namespace {

// Of a line of a cache, and of what vectors and devices like.
constexpr std::uint64_t kAlignment = 256;

}  // namespace

std::unique_ptr<Staging> Staging::make(std::uint64_t bytes) {
    bytes -= bytes % (8 * kAlignment);
    if (bytes == 0) return nullptr;
    // Pages are there when they are first written to: a model with small tensors needs few.
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

/// By mutex_.
bool Staging::find_room(std::uint64_t bytes, std::uint64_t& begin) const {
    if (taken_.empty()) {
        begin = 0;
        return true;
    }
    const std::uint64_t oldest = taken_.front()->begin;
    begin = end_;
    // The end never meets the oldest from behind: then one could not tell full from empty.
    if (end_ <= oldest) return end_ + bytes < oldest;
    if (end_ + bytes <= capacity_) return true;
    begin = 0;
    return bytes < oldest;
}

Staging::Piece Staging::take(std::uint64_t bytes, std::uint32_t patience_ms) {
    const std::uint64_t length = (bytes + kAlignment - 1) / kAlignment * kAlignment;
    std::uint64_t begin = 0;
    std::unique_lock lock(mutex_);
    while (!find_room(length, begin)) {
        const std::uint64_t times = times_given_back_;
        const bool goes_on = given_back_.wait_for(lock, std::chrono::milliseconds(patience_ms),
                                                  [&] { return times_given_back_ != times; });
        if (!goes_on) return {};
    }
    if (unused_.empty()) {
        slots_.push_back({this, 0, false});
        unused_.push_back(&slots_.back());
    }
    Slot* slot = unused_.back();
    unused_.pop_back();
    *slot = {this, begin, false};
    taken_.push_back(slot);
    end_ = begin + length;
    return {{memory_ + begin, static_cast<std::size_t>(bytes)}, slot};
}

void Staging::give_back(void* slot) {
    Slot& given = *static_cast<Slot*>(slot);
    Staging& staging = *given.staging;
    const std::lock_guard lock(staging.mutex_);
    given.is_free = true;
    while (!staging.taken_.empty() && staging.taken_.front()->is_free) {
        staging.unused_.push_back(staging.taken_.front());
        staging.taken_.pop_front();
    }
    ++staging.times_given_back_;
    staging.given_back_.notify_all();
}

}  // namespace aoti_dbg
