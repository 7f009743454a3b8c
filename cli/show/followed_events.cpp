#include "cli/show/followed_events.hpp"

#include <filesystem>

namespace aoti_dbg::cli {
namespace {

std::string folder_of(const std::string& path) {
    const std::string folder = std::filesystem::path(path).parent_path().string();
    return folder.empty() ? "." : folder;
}

}  // namespace

FollowedEvents::FollowedEvents(const std::string& path, OutputFormat format,
                               std::optional<std::uint64_t> thread, const TorchTrace* trace)
    : events_(path), printer_(format, thread, folder_of(path), trace) {}

bool FollowedEvents::poll(bool is_final, std::string& out) {
    const bool has_new = events_.poll(is_final);
    for (ReadEvent event; events_.next(event);) {
        has_calls_ = has_calls_ || event.kind == ReadEvent::Kind::call;
        printer_.print(event, out);
    }
    return has_new;
}

}  // namespace aoti_dbg::cli
