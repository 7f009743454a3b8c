#include "cli/growing_lines.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string_view>

namespace aoti_dbg::cli {
namespace {

constexpr std::size_t kPiece = std::size_t{256} * 1024;
constexpr std::size_t kMostAtOnce = std::size_t{32} << 20U;  // more than the longest line that is read

/// Returns where the lines end: at an empty line or a zero byte, where the writer has not been. `searched`
/// bytes have neither.
std::size_t end_of_lines(std::string_view text, std::size_t searched) {
    if (text.starts_with('\n')) return 0;
    const std::size_t empty = text.find("\n\n", searched == 0 ? 0 : searched - 1);
    const std::size_t zero = text.find('\0', searched);
    return std::min({text.size(), zero, empty == std::string_view::npos ? empty : empty + 1});
}

}  // namespace

GrowingLines::GrowingLines(const std::string& path)
    : file_(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}

void GrowingLines::poll(bool is_final) {
    if (has_lines()) return;
    offset_ += taken_;
    taken_ = 0;
    text_.clear();
    bool is_at_end = false;
    while (!is_at_end && text_.size() < kMostAtOnce) {
        const std::size_t before = text_.size();
        text_.resize(before + kPiece);
        const ssize_t got =
            pread(file_.number(), text_.data() + before, kPiece, static_cast<off_t>(offset_ + before));
        text_.resize(before + (got > 0 ? static_cast<std::size_t>(got) : 0));
        const std::size_t end = end_of_lines(text_, before);
        is_at_end = got <= 0 || end < text_.size();
        text_.resize(end);
    }
    const bool is_same = text_.size() == seen_;
    seen_ = text_.size();
    complete_ = text_.rfind('\n') + 1;
    // The writer did not finish the last line, or it is too long. A line that this poll cut is neither.
    if (is_final && complete_ < text_.size() && (is_at_end || complete_ == 0)) {
        text_.push_back('\n');
        complete_ = text_.size();
    }
    if (complete_ == 0 || is_final || is_same) return;
    complete_ = complete_ < 2 ? 0 : text_.rfind('\n', complete_ - 2) + 1;
}

std::size_t GrowingLines::read(char* to, std::size_t bytes) {
    const std::size_t count = std::min(bytes, complete_ - taken_);
    std::memcpy(to, text_.data() + taken_, count);
    taken_ += count;
    seen_ -= std::min(seen_, count);
    return count;
}

}  // namespace aoti_dbg::cli
