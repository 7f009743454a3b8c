#include "cli/replay/launch_files.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "base/file_bytes.hpp"
#include "base/fnv.hpp"

namespace aoti_dbg::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMostRecord = std::uint64_t{16} << 20U;
constexpr std::uint64_t kMostImage = std::uint64_t{1} << 30U;

/// Launches in launches-4242 belong to events-4242.jsonl.
fs::path events_beside(const fs::path& folder) {
    std::string name = folder.filename().string();
    if (name.starts_with("launches")) name.replace(0, 8, "events");
    return folder.parent_path() / (name + ".jsonl");
}

Result<LaunchFile> read(const fs::path& path) {
    Result<std::string> text = read_regular_file(path.string(), "a captured launch", kMostRecord);
    if (!text.ok()) return Status::error("cannot read " + text.status().message());
    Result<LaunchRecord> launch = read_launch(text.value());
    if (!launch.ok()) return Status::error("cannot read " + path.string() + ": " + launch.status().message());
    return LaunchFile{path.string(), events_beside(path.parent_path()).string(), std::move(launch.value())};
}

/// Returns the folder with captured launches for an output folder, or one that holds some.
fs::path folder_below(const fs::path& place) {
    std::error_code ignored;
    for (const fs::path& folder : {place / "launches", place / "latest" / "launches"})
        if (fs::is_directory(folder, ignored)) return folder;
    return place;
}

}  // namespace

Result<std::vector<LaunchFile>> launches_of(const std::string& place) {
    std::error_code error;
    std::vector<fs::path> paths;
    const bool is_folder = fs::is_directory(place, error);
    if (!is_folder) paths.emplace_back(place);
    if (is_folder)
        for (const fs::directory_entry& entry : fs::directory_iterator(folder_below(place), error))
            if (entry.path().extension() == ".json" && entry.path().filename().string().starts_with("run"))
                paths.push_back(entry.path());
    if (error && is_folder) return Status::error("cannot read " + place + ": " + error.message());
    if (paths.empty())
        return Status::error("no launch is captured in " + place +
                             ". Capture some with `aoti-dbg run --capture PATTERN`");
    std::vector<LaunchFile> files;
    for (const fs::path& path : paths) {
        Result<LaunchFile> file = read(path);
        if (!file.ok()) return file.status();
        files.push_back(std::move(file.value()));
    }
    std::ranges::sort(files, {},
                      [](const LaunchFile& file) { return std::pair(file.launch.run, file.launch.call); });
    return files;
}

Result<std::string> image_of(const LaunchFile& file) {
    if (file.launch.image.empty())
        return Status::error(
            "the code of " + file.launch.function +
            " was not captured: the program loaded it in a way that the library does not see");
    const fs::path path = fs::path(file.path).parent_path() / fs::path(file.launch.image).filename();
    Result<std::string> image = read_regular_file(path.string(), "the code of a kernel", kMostImage);
    if (!image.ok()) return Status::error("cannot read " + image.status().message());
    if (fnv1a(image.value()) != file.launch.image_hash)
        return Status::error("the code in " + path.string() + " is damaged");
    return image;
}

}  // namespace aoti_dbg::cli
