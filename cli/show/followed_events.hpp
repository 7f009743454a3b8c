// Reads an events.jsonl while its process still writes to it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/descriptor.hpp"
#include "cli/show/event_printer.hpp"
#include "serializer/event_reader.hpp"

namespace aoti_dbg::cli {

/// The complete lines of a growing file. Its writer fills the file with newlines ahead of the lines, and
/// copies each line into them. So the last line counts as complete once two polls found the same.
class GrowingLines {
  public:
    explicit GrowingLines(const std::string& path);

    [[nodiscard]] bool is_open() const { return file_.number() >= 0; }

    /// Reads what is new. With `is_final`, the writer has ended, and the last line counts at once.
    void poll(bool is_final);

    /// Copies complete lines that were not read yet. Returns 0 if there are none.
    std::size_t read(char* to, std::size_t bytes);

    /// True if the last poll came to the end of the lines. One poll of a large file does not.
    [[nodiscard]] bool is_at_end() const { return is_at_end_; }

  private:
    Descriptor file_;
    std::uint64_t offset_ = 0;  // of `text_` in the file
    std::string text_;          // from there on, as far as the writer has been
    std::size_t seen_ = 0;      // size of `text_` at the last poll
    std::size_t complete_ = 0;  // so much of `text_` is complete lines
    bool is_at_end_ = false;
};

/// Prints the events of one process as they come.
class FollowedEvents {
  public:
    FollowedEvents(const std::string& path, OutputFormat format, std::optional<std::uint64_t> thread,
                   const TorchTrace* trace);
    FollowedEvents(const FollowedEvents&) = delete;
    FollowedEvents& operator=(const FollowedEvents&) = delete;

    [[nodiscard]] bool is_open() const { return lines_.is_open(); }

    /// Appends what is new.
    void poll(bool is_final, std::string& out);

    /// True if the last poll printed all that is in the file.
    [[nodiscard]] bool is_at_end() const { return lines_.is_at_end(); }
    /// True if events of calls were among them, which only level 2 writes.
    [[nodiscard]] bool has_calls() const { return has_calls_; }
    [[nodiscard]] std::uint64_t shown() const { return printer_.shown(); }
    [[nodiscard]] std::uint64_t damaged() const { return reader_.notes().damaged; }

  private:
    GrowingLines lines_;
    EventReader reader_;
    EventPrinter printer_;
    bool has_calls_ = false;
};

}  // namespace aoti_dbg::cli
