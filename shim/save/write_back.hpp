// Has the file system begin at once to bring to disk what was written to files: left alone it begins when a
// tenth of the memory is full of such bytes, or somebody waits for them, and the disk idles until then.
// Nobody waits for it here, and what is not begun goes its usual way. Knows nothing of tensors.
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
    /// Makes its thread, which shares the caller's descriptors. Once; without it nothing is begun.
    void start();
    /// Bytes that were written to a file, which may be closed afterwards. From any thread.
    void begin(int file, std::uint64_t from, std::uint64_t bytes);
    /// The file goes before it is read by anybody: what is not begun yet is left. Its number is closed next.
    void forget(int file);
    /// The thread goes as soon as it can. This stays for as long as the process.
    void end();

  private:
    struct Range {
        int source;  // the number that we were told, which may be another file's by now
        int file;    // of our own
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
    // A disk that lags behind has enough to do with these; each holds a descriptor, and a file its room.
    std::array<Range, 16> ranges_;
    std::size_t count_ = 0;
    std::atomic<bool> goes_on_{false};
};

}  // namespace aoti_dbg
