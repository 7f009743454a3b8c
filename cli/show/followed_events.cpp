#include "cli/show/followed_events.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <string_view>

namespace aoti_dbg::cli {
namespace {

constexpr std::size_t kPiece = std::size_t{256} * 1024;
constexpr std::size_t kMostAtOnce = std::size_t{32} << 20U;  // more than the longest line that is read

// The reader takes the end of its source for the end of the file. This line, which is no event, makes it
// return instead.
constexpr std::string_view kPause = "{\"event\":\"pause\"}\n";

std::string folder_of(const std::string& path) {
    const std::string folder = std::filesystem::path(path).parent_path().string();
    return folder.empty() ? "." : folder;
}

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
    if (complete_ != 0) return;  // some of it was not read yet
    text_.clear();
    is_at_end_ = false;
    while (!is_at_end_ && text_.size() < kMostAtOnce) {
        const std::size_t before = text_.size();
        text_.resize(before + kPiece);
        const ssize_t got =
            pread(file_.number(), text_.data() + before, kPiece, static_cast<off_t>(offset_ + before));
        text_.resize(before + (got > 0 ? static_cast<std::size_t>(got) : 0));
        const std::size_t end = end_of_lines(text_, before);
        is_at_end_ = got <= 0 || end < text_.size();
        text_.resize(end);
    }
    const bool is_same = text_.size() == seen_;
    seen_ = text_.size();
    complete_ = text_.rfind('\n') + 1;
    // The writer did not finish the last line, or it is too long.
    if (is_final && complete_ < text_.size() && (is_at_end_ || complete_ == 0)) {
        text_.push_back('\n');
        complete_ = text_.size();
    }
    if (complete_ == 0 || is_final || is_same) return;
    complete_ = complete_ < 2 ? 0 : text_.rfind('\n', complete_ - 2) + 1;
}

std::size_t GrowingLines::read(char* to, std::size_t bytes) {
    const std::size_t count = std::min(bytes, complete_);
    std::memcpy(to, text_.data(), count);
    text_.erase(0, count);
    offset_ += count;
    complete_ -= count;
    seen_ -= count;
    return count;
}

FollowedEvents::FollowedEvents(const std::string& path, OutputFormat format,
                               std::optional<std::uint64_t> thread, const TorchTrace* trace)
    : lines_(path),
      reader_([this](char* to, std::size_t bytes) {
          const std::size_t count = lines_.read(to, bytes);
          if (count != 0 || bytes < kPause.size()) return count;
          std::memcpy(to, kPause.data(), kPause.size());
          return kPause.size();
      }),
      printer_(format, thread, folder_of(path), trace) {}

void FollowedEvents::poll(bool is_final, std::string& out) {
    lines_.poll(is_final);
    ReadEvent event;
    while (reader_.next(event) && event.type != "pause") {
        has_calls_ = has_calls_ || event.kind == ReadEvent::Kind::call;
        printer_.print(event, out);
    }
}

}  // namespace aoti_dbg::cli
