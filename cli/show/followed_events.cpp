#include "cli/show/followed_events.hpp"

#include <cstring>
#include <filesystem>
#include <string_view>

namespace aoti_dbg::cli {
namespace {

// The reader treats the end of its source as the end of the file. This line, which is not an event, makes it
// return instead.
constexpr std::string_view kPause = "{\"event\":\"pause\"}\n";

std::string folder_of(const std::string& path) {
    const std::string folder = std::filesystem::path(path).parent_path().string();
    return folder.empty() ? "." : folder;
}

}  // namespace

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

bool FollowedEvents::poll(bool is_final, std::string& out) {
    lines_.poll(is_final);
    const bool has_new = lines_.has_lines();
    ReadEvent event;
    while (reader_.next(event) && event.type != "pause") {
        has_calls_ = has_calls_ || event.kind == ReadEvent::Kind::call;
        printer_.print(event, out);
    }
    return has_new;
}

}  // namespace aoti_dbg::cli
