// See recorded_folder.hpp.
#include "cli/page/recorded_folder.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "base/descriptor.hpp"
#include "base/file_bytes.hpp"
#include "base/file_failure.hpp"
#include "cli/folder_walk.hpp"
#include "cli/recorded_file.hpp"
#include "serializer/event_fields.hpp"
#include "serializer/line_source.hpp"

namespace aoti_dbg::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostFiles = 4096;

bool is_plain(const fs::path& path) {
    std::error_code failed;
    return fs::is_regular_file(fs::symlink_status(path, failed));
}

}  // namespace

Result<RecordedFolder> RecordedFolder::open(const std::string& place) {
    std::error_code failed;
    const fs::path path = fs::canonical(place, failed);
    if (failed) return file_failure("cannot open", place, failed.value());
    if (!fs::is_directory(path, failed)) return file_failure("cannot open", place, ENOTDIR);
    return RecordedFolder(path.string());
}

bool RecordedFolder::has(const std::string& path) const {
    std::error_code failed;
    if (!is_plain(path)) return false;
    const std::string real = fs::canonical(path, failed).string();
    return !failed && real.size() > path_.size() && real.starts_with(path_) &&
           (path_ == "/" || real[path_.size()] == '/');
}

std::vector<std::string> RecordedFolder::files(std::string_view begin, std::string_view end) const {
    std::vector<std::string> found;
    walk_folder(path_, [&](const fs::directory_entry& entry) {
        const std::string name = entry.path().filename().string();
        if (name.starts_with(begin) && name.ends_with(end) && is_plain(entry.path()))
            found.push_back(entry.path().string());
        return found.size() < kMostFiles;
    });
    std::ranges::sort(found);
    return found;
}

LinesHeader header_of(const std::string& path) {
    RecordedFile file(path.c_str());
    LineSource lines([&file](char* to, std::size_t bytes) { return file.read(to, bytes); });
    std::string_view line;
    JsonLine json;
    LinesHeader header;
    if (lines.next(line) && json.parse(line)) {
        read_integer(json.root().member("pid"), header.pid);
        read_integer(json.root().member("start_ns"), header.start_ns);
    }
    return header;
}

std::optional<std::string> small_file(const std::string& path, std::size_t most) {
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW | O_NONBLOCK));
    struct stat info {};
    if (file.number() < 0 || fstat(file.number(), &info) != 0 || !S_ISREG(info.st_mode) ||
        static_cast<std::uint64_t>(info.st_size) > most)
        return std::nullopt;
    std::string text(static_cast<std::size_t>(info.st_size), '\0');
    if (!read_fully(file.number(), text)) return std::nullopt;
    return text;
}

}  // namespace aoti_dbg::cli
