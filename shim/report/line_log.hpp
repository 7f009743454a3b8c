// Where the lines of level 3 go: standard error, standard output, or a file. Whatever it is, a line is out of
// the program's hands before the launch it announces: one write(2), or, into a file, a copy into a shared
// mapping, which costs no system call and survives SIGKILL.
//
// A mapped log grows in steps, each as long as the log is, between kFirstStep and kLargestStep, and filled
// with newlines, so that it is text at any moment; close() cuts what is left over. After a crash the blank
// rest stays, `aoti-dbg run` cuts it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "base/status.hpp"
#include "config/options.hpp"
#include "shim/report/preallocated_file.hpp"

namespace aoti_dbg {

class LineLog {
  public:
    static constexpr std::size_t kFirstStep = std::size_t{64} * 1024;
    static constexpr std::size_t kLargestStep = std::size_t{1024} * 1024;

    /// `destination` as AOTI_DBG_LOG, a file as an anchored pattern. A file that exists is not touched: the
    /// next free name is taken, and said.
    static Result<std::unique_ptr<LineLog>> open(const std::string& destination);

    /// `text` is whole lines. From any thread. What cannot be written is counted.
    void write(const char* text, std::size_t length);

    /// Cuts the file to what was written. Nothing is written afterwards. Allocates nothing unless it fails.
    void close();

    [[nodiscard]] std::uint64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }
    /// The file's name, nullptr for standard error and output.
    [[nodiscard]] const char* path() const { return file_ ? file_->path().c_str() : nullptr; }

  private:
    LineLog() = default;
    void write_mapped(const char* text, std::size_t length);
    bool next_step();

    /// A descriptor that we opened may have been closed by the program and given to something else.
    [[nodiscard]] bool is_still_ours() const;

    int descriptor_ = -1;  // of a stream; -1: mapped file
    dev_t device_ = 0;     // of a stream that we opened
    ino_t inode_ = 0;
    std::unique_ptr<PreallocatedFile> file_;
    std::mutex mutex_;      // of what follows; held for a copy
    char* step_ = nullptr;  // the mapped part
    std::size_t step_bytes_ = 0;
    std::size_t used_ = 0;
    bool closed_ = false;
    std::atomic<std::uint64_t> dropped_{0};
};

}  // namespace aoti_dbg
