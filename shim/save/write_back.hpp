// Makes the file system start writing file data to disk at once. Without this it starts when a tenth of the
// memory is dirty or a program syncs, and the disk idles until then. Nothing waits for the result, and
// skipped ranges take the usual path. Knows nothing of tensors.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>

namespace aoti_dbg {

class WriteBack {
  public:
    /// Creates the thread, which shares the caller's descriptors. Call this once. If that fails, write-back
    /// never starts.
    void start();
    /// Queues bytes that were written to a file. The caller may close the file afterwards. You may call this
    /// from any thread.
    void begin(int file, std::uint64_t from, std::uint64_t bytes);
    /// Drops queued ranges of a file that is being deleted. The caller closes the descriptor next.
    void forget(int file);
    /// Ends the thread as soon as possible. The object must live as long as the process.
    void end();

  private:
    struct Range {
        int source;  // the caller's number, perhaps reused for another file
        int file;    // our own duplicate
        std::uint64_t begin;
        std::uint64_t end;
    };
    static void* run(void* self);
    void work();
    std::span<Range> waiting() { return std::span(ranges_).first(count_); }
    Range take(std::size_t at);
    void ask_for(const Range& range);

    std::mutex mutex_;
    std::condition_variable there_;
    // Enough for a disk that lags behind. Each entry holds a descriptor, and so the space of its file.
    std::array<Range, 16> ranges_;
    std::size_t count_ = 0;
    std::atomic<bool> goes_on_{false};
};

}  // namespace aoti_dbg
