// Where the lines of level 3 go: standard error, standard output, or a file. Whatever it is, a line is out of
// the program's hands before the launch it announces: one write(2), or, into a file, a copy into a shared
// mapping, which costs no system call and survives SIGKILL.
//
// A file is filled with newlines ahead of the lines (mapped_text.hpp), so that it is text at any moment;
// close() cuts what is left over. After a crash the blank rest stays, `aoti-dbg run` cuts it.
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

namespace aoti_dbg {

class LineLog {
  public:
    /// `destination` as AOTI_DBG_LOG, a file as an anchored pattern. A file that exists is not touched: the
    /// next free name is taken, and said.
    static Result<std::unique_ptr<LineLog>> open(const std::string& destination);

    /// `text` is whole lines. From any thread. Returns whether they are in the log; lines that are not count
    /// as lost.
    bool write(const char* text, std::size_t length);

    /// Truncates the file to what was written. Later lines are lost. Allocates nothing unless it fails.
    void close();

    /// Lines that are not in the log.
    [[nodiscard]] std::uint64_t lost() const { return lost_.load(std::memory_order_relaxed); }
    /// The file's name, nullptr for standard error and output.
    [[nodiscard]] const char* path() const { return file_ ? file_->path() : nullptr; }

  private:
    LineLog() = default;
    bool write_stream(const char* text, std::size_t length);
    bool write_mapped(const char* text, std::size_t length);

    /// A descriptor that we opened may have been closed by the program and given to something else.
    [[nodiscard]] bool is_still_ours() const;

    int descriptor_ = -1;  // of a stream; -1: mapped file
    dev_t device_ = 0;     // of a stream that we opened
    ino_t inode_ = 0;
    std::unique_ptr<MappedText> file_;
    std::mutex mutex_;  // of what the file holds, and of what follows; held for a copy
    bool closed_ = false;
    std::atomic<std::uint64_t> lost_{0};
};

}  // namespace aoti_dbg
