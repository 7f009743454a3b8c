#include "cli/replay/launch_files.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "base/clean_text.hpp"
#include "base/fnv.hpp"
#include "cli/bundle/bundle_files.hpp"

namespace aoti_dbg::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMostRecord = std::uint64_t{16} << 20U;
constexpr std::uint64_t kMostImage = std::uint64_t{1} << 30U;

/// Launches in launches-4242 belong to events-4242.jsonl.
fs::path events_beside(fs::path folder) {
    std::string name = folder.filename().string();
    if (std::error_code failed; name.empty() || name == "." || name == "..") {
        folder = fs::canonical(folder / ".", failed);
        name = folder.filename().string();
    }
    if (name.starts_with("launches")) name.replace(0, 8, "events");
    return folder.parent_path() / (name + ".jsonl");
}

Result<FileContents> open_small(RecordingFiles& files, const std::string& path, std::uint64_t most) {
    Result<FileContents> contents = files.open(path);
    if (contents.ok() && contents.value().bytes.size() > most)
        return Status::error("cannot read " + files.shown(path) + ": it is too large");
    return contents;
}

Result<LaunchFile> read(const std::shared_ptr<RecordingFiles>& files, const std::string& path) {
    const Result<FileContents> contents = open_small(*files, path, kMostRecord);
    if (!contents.ok()) return contents.status();
    Result<LaunchRecord> launch = read_launch(contents.value().text());
    if (!launch.ok())
        return Status::error("cannot read " + files->shown(path) + ": " + launch.status().message());
    return LaunchFile{path, events_beside(fs::path(path).parent_path()).string(), std::move(launch.value()),
                      files};
}

/// A name from a record may not leave its folder.
std::string image_path(const LaunchFile& file) {
    return (fs::path(file.path).parent_path() / fs::path(file.launch.image).filename()).string();
}

bool is_record(const fs::path& path) {
    return path.extension() == ".json" && path.filename().string().starts_with("run");
}

Result<std::vector<std::string>> record_paths(const std::string& place,
                                              std::shared_ptr<RecordingFiles>& files) {
    files = std::make_shared<FolderFiles>();
    const std::vector<std::string> folders = launch_folders(place);
    std::string folder = folders.empty() ? place : folders.front();
    std::error_code ignored;
    if (is_bundle(place)) {
        Result<std::shared_ptr<BundleFiles>> bundle = BundleFiles::open_bundle(place);
        if (!bundle.ok()) return bundle.status();
        files = std::move(bundle.value());
        folder = "launches";
    } else if (!fs::is_directory(place, ignored)) {
        return std::vector<std::string>{place};
    }
    Result<std::vector<std::string>> paths = files->files_in(folder);
    if (paths.ok()) std::erase_if(paths.value(), [](const std::string& path) { return !is_record(path); });
    return paths;
}

}  // namespace

std::vector<std::string> launch_folders(const std::string& place) {
    std::vector<std::pair<fs::file_time_type, std::string>> found;
    for (const fs::path& folder : {fs::path(place), fs::path(place) / "latest"}) {
        std::error_code ignored;
        for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored))
            if (entry.path().filename().string().starts_with("launches") && entry.is_directory(ignored))
                found.emplace_back(entry.last_write_time(ignored), entry.path().string());
        if (!found.empty()) break;
    }
    std::ranges::sort(found, std::ranges::greater());
    std::vector<std::string> folders;
    folders.reserve(found.size());
    for (auto& [time, path] : found)
        folders.push_back(std::move(path));
    return folders;
}

Result<std::vector<LaunchFile>> launches_of(const std::string& place) {
    std::shared_ptr<RecordingFiles> files;
    Result<std::vector<std::string>> paths = record_paths(place, files);
    if (!paths.ok()) return paths.status();
    if (paths.value().empty())
        return Status::error("no launch is captured in " + place +
                             ". Capture some with `aoti-dbg run --capture PATTERN`");
    std::vector<LaunchFile> launches;
    for (const std::string& path : paths.value()) {
        Result<LaunchFile> file = read(files, path);
        if (!file.ok()) return file.status();
        launches.push_back(std::move(file.value()));
    }
    std::ranges::sort(launches, {},
                      [](const LaunchFile& file) { return std::pair(file.launch.run, file.launch.call); });
    return launches;
}

std::string place_of(const LaunchRecord& launch) {
    return "run " + std::to_string(launch.run) + ", call " + std::to_string(launch.call) + ", " +
           clean_text(launch.kernel);
}

std::string triple_text(const std::array<std::uint32_t, 3>& numbers) {
    return "[" + std::to_string(numbers[0]) + ", " + std::to_string(numbers[1]) + ", " +
           std::to_string(numbers[2]) + "]";
}

std::vector<std::string> files_beside(const LaunchFile& file) {
    if (file.launch.image.empty()) return {};
    return {image_path(file)};
}

std::vector<LaunchTensor> created_tensors(const LaunchRecord& launch) {
    std::vector<LaunchTensor> created;
    for (const LaunchArgument& argument : launch.arguments) {
        if (argument.role != Role::makes) continue;
        for (const std::string& label : argument.labels) {
            const bool is_known =
                label.empty() || std::ranges::any_of(launch.tensors, [&](const LaunchTensor& tensor) {
                    return tensor.label == label && tensor.position == argument.position;
                });
            if (is_known) continue;
            LaunchTensor& tensor = created.emplace_back();
            tensor.label = label;
            tensor.position = argument.position;
        }
    }
    return created;
}

Result<std::string> image_of(const LaunchFile& file) {
    if (file.launch.image.empty())
        return Status::error(
            "the code of " + file.launch.function +
            " was not captured: the program loaded it in a way that the library does not see");
    const std::string path = image_path(file);
    const Result<FileContents> image = open_small(*file.files, path, kMostImage);
    if (!image.ok()) return image.status();
    if (fnv1a(image.value().text()) != file.launch.image_hash)
        return Status::error("the code in " + file.files->shown(path) + " is damaged");
    return std::string(image.value().text());
}

}  // namespace aoti_dbg::cli
