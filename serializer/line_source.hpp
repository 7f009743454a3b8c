// Splits a stream of bytes into lines, in memory that does not grow with the stream. It skips blank lines,
// because an unclosed log ends in them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace aoti_dbg {

/// Copies up to `bytes` bytes to `to` and returns how many; 0 at the end.
using ByteSource = std::function<std::size_t(char* to, std::size_t bytes)>;

class LineSource {
  public:
    /// A longer line is truncated, and the rest is skipped.
    static constexpr std::size_t kLongestLine = std::size_t{16} << 20U;

    explicit LineSource(ByteSource source) : source_(std::move(source)) {}

    /// Returns the next non-blank line without its newline, valid until the next call. Returns false at the
    /// end.
    bool next(std::string_view& line);
    /// Returns the number of the current line, from 1, counting blank ones.
    [[nodiscard]] std::uint64_t number() const { return number_; }
    [[nodiscard]] bool is_too_long() const { return is_too_long_; }

  private:
    bool next_of_any(std::string_view& line);
    bool fill();

    ByteSource source_;
    std::string buffer_;
    std::size_t at_ = 0;   // where the next line starts
    std::size_t end_ = 0;  // end of the data read so far
    bool is_over_ = false;
    bool is_too_long_ = false;
    std::uint64_t number_ = 0;
};

}  // namespace aoti_dbg
