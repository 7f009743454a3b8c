#include "shim/report/write_back.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "shim/measure/own_thread.hpp"

namespace aoti_dbg {
namespace {

// Of a file; smaller ones are better off together, as the file system does it by itself.
constexpr std::uint64_t kLeast = std::uint64_t{128} << 10U;

}  // namespace

void WriteBack::start() {
    const std::lock_guard lock(mutex_);
    goes_on_ = start_own_thread(run, this);
}

void WriteBack::begin(int file, std::uint64_t from, std::uint64_t bytes) {
    if (bytes < kLeast) return;
    const std::lock_guard lock(mutex_);
    if (!goes_on_) return;
    // Pieces of a large file come one behind the other, of several places in it at a time.
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

/// By mutex_: what has waited longest.
WriteBack::Range WriteBack::take() {
    const Range first = ranges_.front();
    std::shift_left(ranges_.begin(), ranges_.begin() + static_cast<std::ptrdiff_t>(count_), 1);
    --count_;
    return first;
}

void WriteBack::work() {
    std::unique_lock lock(mutex_);
    while (true) {
        there_.wait(lock, [this] { return count_ != 0 || !goes_on_; });
        if (!goes_on_) break;
        const Range range = take();
        lock.unlock();
        // What it comes to shows when somebody waits for the file.
        (void)sync_file_range(range.file, static_cast<off_t>(range.begin),
                              static_cast<off_t>(range.end - range.begin), SYNC_FILE_RANGE_WRITE);
        close(range.file);
        lock.lock();
    }
    while (count_ != 0)
        close(take().file);
}

}  // namespace aoti_dbg
