// events.jsonl in the output folder. A line is out of the program's hands when append() comes back: a copy
// into a shared mapping, which survives SIGKILL. Grows in steps that are filled with newlines, as the log
// does, so what a killed process leaves are whole lines and blank ones; close() cuts these.
// Not thread-safe: who appends holds a lock of his own.
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
    /// `folder` exists. Makes events.jsonl in it; where that exists, events-<pid>.jsonl, or the next free
    /// name after it.
    static Result<std::unique_ptr<EventLog>> create(const std::string& folder);

    /// `lines` are whole lines, and are written whole or not at all. Lines that have no room count as lost.
    /// The first failure prints a message and ends the file.
    void append(std::string_view lines);

    /// Truncates the file to what was written. Later lines are lost.
    void close();

    /// Lines that are not in the file. From any thread.
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
