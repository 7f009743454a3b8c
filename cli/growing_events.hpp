// Reads an events.jsonl while its process still writes to it.
#pragma once

#include <cstddef>
#include <string>

#include "cli/growing_lines.hpp"
#include "serializer/event_reader.hpp"

namespace aoti_dbg::cli {

class GrowingEvents {
  public:
    explicit GrowingEvents(const std::string& path, ArgumentDetail detail = ArgumentDetail::everything);
    GrowingEvents(const GrowingEvents&) = delete;
    GrowingEvents& operator=(const GrowingEvents&) = delete;

    [[nodiscard]] bool is_open() const { return lines_.is_open(); }

    /// Reads what is new, of a large file some of it. With `is_final`, the process has ended. Returns false
    /// if nothing is new.
    bool poll(bool is_final);

    /// Returns false after the last event of this poll.
    bool next(ReadEvent& event);

    /// Once next() has returned false: true if so much was new that the file probably has more.
    [[nodiscard]] bool may_have_more() const { return read_ >= kManyBytes; }

    [[nodiscard]] const ReadNotes& notes() const { return reader_.notes(); }

  private:
    static constexpr std::size_t kManyBytes = std::size_t{1} << 20U;

    GrowingLines lines_;
    std::size_t read_ = 0;  // since the last poll
    EventReader reader_;
};

}  // namespace aoti_dbg::cli
