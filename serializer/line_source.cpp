#include "serializer/line_source.hpp"

#include <algorithm>
#include <cstring>

namespace aoti_dbg {
namespace {

constexpr std::size_t kPiece = std::size_t{256} * 1024;

}  // namespace

/// Appends more input to the buffer. Returns false if there is none.
bool LineSource::fill() {
    if (is_over_) return false;
    if (at_ > 0) {
        memmove(buffer_.data(), buffer_.data() + at_, end_ - at_);
        end_ -= at_;
        at_ = 0;
    }
    if (buffer_.size() - end_ < kPiece) buffer_.resize(std::max(2 * buffer_.size(), end_ + kPiece));
    const std::size_t got = source_(buffer_.data() + end_, buffer_.size() - end_);
    end_ += got;
    is_over_ = got == 0;
    return !is_over_;
}

bool LineSource::next_of_any(std::string_view& line) {
    is_too_long_ = false;
    std::size_t searched = 0;
    for (;;) {
        const std::string_view read(buffer_.data() + at_, end_ - at_);
        const std::size_t newline = read.find('\n', searched);
        const bool has_newline = newline != std::string_view::npos;
        // The truncated rest of a long line may end with the file.
        if (has_newline || (is_over_ && (!read.empty() || is_too_long_))) {
            line = read.substr(0, newline);
            is_too_long_ = is_too_long_ || line.size() > kLongestLine;
            at_ += line.size() + (has_newline ? 1 : 0);
            ++number_;
            return true;
        }
        searched = read.size();
        if (searched > kLongestLine) {
            is_too_long_ = true;
            at_ = end_;
            searched = 0;
        }
        if (!fill() && at_ == end_ && !is_too_long_) return false;
    }
}

bool LineSource::next(std::string_view& line) {
    const auto is_blank = [](char c) { return c == ' ' || c == '\r' || c == '\t' || c == '\0'; };
    while (next_of_any(line)) {
        if (is_too_long_ || !std::all_of(line.begin(), line.end(), is_blank)) return true;
    }
    return false;
}

}  // namespace aoti_dbg
