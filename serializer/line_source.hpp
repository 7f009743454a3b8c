// Lines out of a stream of bytes, in memory that does not grow with it. Blank lines are passed over: a log
// that was not closed ends in them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace aoti_dbg {

/// Puts up to `bytes` bytes to `to`; 0 at the end.
using ByteSource = std::function<std::size_t(char* to, std::size_t bytes)>;

class LineSource {
  public:
    /// Of a longer line some part is given, and the rest is passed over.
    static constexpr std::size_t kLongestLine = std::size_t{16} << 20U;

    explicit LineSource(ByteSource source) : source_(std::move(source)) {}

    /// The next line with something on it, without its newline, good until the next call. False at the end.
    bool next(std::string_view& line);
    /// Of the line that was given: from 1, blank ones counted.
    [[nodiscard]] std::uint64_t number() const { return number_; }
    [[nodiscard]] bool is_too_long() const { return is_too_long_; }

  private:
    bool next_of_any(std::string_view& line);
    bool fill();

    ByteSource source_;
    std::string buffer_;
    std::size_t at_ = 0;   // where the next line begins
    std::size_t end_ = 0;  // of what was read
    bool is_over_ = false;
    bool is_too_long_ = false;
    std::uint64_t number_ = 0;
};

}  // namespace aoti_dbg
