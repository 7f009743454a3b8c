#include "shim/save/write_back.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "shim/runtime/own_thread.hpp"

namespace aoti_dbg {
namespace {

// The file system handles smaller files better together, on its own schedule.
constexpr std::uint64_t kLeast = std::uint64_t{128} << 10U;
// The process cannot exit during such a system call, so each call covers a limited range.
constexpr std::uint64_t kAtOnce = std::uint64_t{4} << 20U;

}  // namespace

void WriteBack::start() {
    const std::lock_guard lock(mutex_);
    goes_on_ = start_own_thread(run, this);
}

void WriteBack::begin(int file, std::uint64_t from, std::uint64_t bytes) {
    if (bytes < kLeast) return;
    const std::lock_guard lock(mutex_);
    if (!goes_on_) return;
    // A large file grows by consecutive pieces, at several places at once.
    for (Range& known : waiting()) {
        if (known.source != file || known.end != from) continue;
        known.end += bytes;
        return;
    }
    if (count_ == ranges_.size()) return;
    const int own = fcntl(file, F_DUPFD_CLOEXEC, 0);
    if (own < 0) return;
    ranges_[count_++] = {file, own, from, from + bytes};
    there_.notify_one();
}

void WriteBack::forget(int file) {
    const std::lock_guard lock(mutex_);
    for (std::size_t at = count_; at-- != 0;)
        if (ranges_[at].source == file) close(take(at).file);
}

void WriteBack::end() {
    const std::lock_guard lock(mutex_);
    goes_on_ = false;
    there_.notify_one();
}

void* WriteBack::run(void* self) {
    name_own_thread();
    static_cast<WriteBack*>(self)->work();
    return nullptr;
}

/// Requires mutex_.
WriteBack::Range WriteBack::take(std::size_t at) {
    const Range range = ranges_[at];
    const auto begin = ranges_.begin();
    std::shift_left(begin + static_cast<std::ptrdiff_t>(at), begin + static_cast<std::ptrdiff_t>(count_), 1);
    --count_;
    return range;
}

/// Ignores the result. An error shows up when a program syncs the file.
void WriteBack::ask_for(const Range& range) {
    for (std::uint64_t at = range.begin; at < range.end && goes_on_; at += kAtOnce) {
        (void)sync_file_range(range.file, static_cast<off_t>(at),
                              static_cast<off_t>(std::min(kAtOnce, range.end - at)), SYNC_FILE_RANGE_WRITE);
    }
}

void WriteBack::work() {
    std::unique_lock lock(mutex_);
    while (true) {
        there_.wait(lock, [this] { return count_ != 0 || !goes_on_; });
        if (!goes_on_) break;
        const Range range = take(0);
        lock.unlock();
        ask_for(range);
        close(range.file);
        lock.lock();
    }
    while (count_ != 0)
        close(take(0).file);
}

}  // namespace aoti_dbg
