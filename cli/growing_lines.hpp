// Reads a file of lines while its process still writes to it. It must not map the file, whose end is cut when
// the process ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/descriptor.hpp"

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

    /// Returns true if complete lines were not read yet.
    [[nodiscard]] bool has_lines() const { return taken_ < complete_; }

  private:
    Descriptor file_;
    std::uint64_t offset_ = 0;  // of `text_` in the file
    std::string text_;          // from there on, as far as the writer has been
    std::size_t seen_ = 0;      // size of `text_` at the last poll, without what was read
    std::size_t complete_ = 0;  // so much of `text_` is complete lines
    std::size_t taken_ = 0;     // so much of them was read
};

}  // namespace aoti_dbg::cli
