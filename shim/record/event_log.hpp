// events.jsonl in the output folder. When append() returns, the lines are in a shared mapping and survive
// SIGKILL. The file grows in steps that are filled with newlines, like the log. A killed process therefore
// leaves only whole and blank lines, and close() removes the blank ones. Not thread-safe: the caller holds a
// lock of its own.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/status.hpp"
#include "shim/record/mapped_text.hpp"

namespace aoti_dbg {

class EventLog {
  public:
    /// Creates events.jsonl in `folder`, which must exist. If the file exists, uses events-<pid>.jsonl or the
    /// next free name after it.
    static Result<std::unique_ptr<EventLog>> create(const std::string& folder);

    /// Writes all of `lines`, which must be whole lines, or nothing. Lines without room count as lost. The
    /// first failure prints a message and ends the file.
    void append(std::string_view lines);

    /// Truncates the file to the written lines. Later lines are lost.
    void close();

    /// Returns the number of lines that are missing from the file. Call it from any thread.
    [[nodiscard]] std::uint64_t lost() const { return lost_.load(std::memory_order_relaxed); }
    [[nodiscard]] const char* path() const { return text_.path(); }

  private:
    explicit EventLog(MappedText text) : text_(std::move(text)) {}

    MappedText text_;
    bool is_over_ = false;
    bool is_closed_ = false;
    std::atomic<std::uint64_t> lost_{0};
};

}  // namespace aoti_dbg
