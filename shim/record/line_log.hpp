// The log of level 3: standard error, standard output, or a file. A line leaves the process before the launch
// that it announces. A stream takes one write(2). A file takes a copy into a shared mapping, which needs no
// system call and survives SIGKILL. A file is filled with newlines ahead of the lines (mapped_text.hpp), so
// it is valid text at any time. close() removes the rest; after a crash, `aoti-dbg run` does.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "base/status.hpp"
#include "config/options.hpp"
#include "shim/record/mapped_text.hpp"
#include "shim/runtime/short_lock.hpp"

namespace aoti_dbg {

class LineLog {
  public:
    /// Opens `destination`, which has the syntax of AOTI_DBG_LOG with an anchored file pattern. Never writes
    /// to an existing file: takes the next free name and prints a warning.
    static Result<std::unique_ptr<LineLog>> open(const std::string& destination);

    /// Writes whole lines, from any thread. Returns true if they are in the log, and otherwise counts them as
    /// lost.
    bool write(const char* text, std::size_t length) {
        if (file_) [[likely]] {
            const std::lock_guard lock(lock_);
            if (!closed_ && file_->append_to_step(text, length)) return true;
        }
        return write_slowly(text, length);
    }

    /// Truncates the file to the written lines. Later lines are lost. Allocates nothing unless it fails.
    void close();

    /// Returns the number of lines that are missing from the log.
    [[nodiscard]] std::uint64_t lost() const { return lost_.load(std::memory_order_relaxed); }
    /// Returns the file's path, or null for standard error and standard output.
    [[nodiscard]] const char* path() const { return file_ ? file_->path() : nullptr; }

  private:
    LineLog() = default;
    bool write_slowly(const char* text, std::size_t length);
    bool write_stream(const char* text, std::size_t length);
    bool write_mapped(const char* text, std::size_t length);

    /// The program may have closed our descriptor, and another file may have its number.
    [[nodiscard]] bool is_still_ours() const;

    int descriptor_ = -1;  // of a stream; -1: mapped file
    dev_t device_ = 0;     // of a stream that we opened
    ino_t inode_ = 0;
    std::unique_ptr<MappedText> file_;
    ShortLock lock_;  // guards the file's contents and the members below; held for one copy
    bool closed_ = false;
    std::atomic<std::uint64_t> lost_{0};
};

}  // namespace aoti_dbg
