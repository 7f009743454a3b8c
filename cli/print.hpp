// Writes what the commands print to standard output. A closed pipe (`| head`) is not a failure.
#pragma once

#include <cstddef>
#include <string>

namespace aoti_dbg::cli {

/// Returns the exit code: 0, or 1 after an error message if the write failed.
int print(const std::string& text);

/// Prints a text of any size in large pieces.
class Output {
  public:
    /// Append here what comes next.
    std::string text;

    /// Return false if the reader closed the pipe or a write failed.
    bool flush_if_large() { return text.size() < kPiece || flush(); }
    bool flush();
    /// Returns the exit code: 0, or 1 after an error message if a write failed.
    [[nodiscard]] int exit_code() const;

  private:
    static constexpr std::size_t kPiece = std::size_t{256} * 1024;
    int error_ = 0;
};

}  // namespace aoti_dbg::cli
