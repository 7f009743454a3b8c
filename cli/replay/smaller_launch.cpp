#include "cli/replay/smaller_launch.hpp"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>

#include "base/fnv.hpp"
#include "cli/tensor_files.hpp"

namespace aoti_dbg::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kIndexPath = "tensors/index.jsonl";

/// Returns a line of the index. A label may have bytes that are no UTF-8.
std::string text_of(const Json& line) {
    return line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

FileContents text_in_memory(const std::string& text) {
    const auto bytes = std::as_bytes(std::span(text));
    return in_memory({bytes.begin(), bytes.end()});
}

}  // namespace

FileContents in_memory(std::vector<std::byte> bytes) {
    const auto owner = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
    return {*owner, owner, true};
}

Result<FileContents> MemoryFiles::open(const std::string& path) {
    const auto found = files_.find(path);
    if (found == files_.end()) return Status::error("cannot read " + path + ": it is not part of the launch");
    return found->second;
}

Result<std::vector<std::string>> MemoryFiles::files_in(const std::string& folder) {
    std::vector<std::string> paths;
    for (const auto& [path, contents] : files_)
        if (std::filesystem::path(path).parent_path() == folder) paths.push_back(path);
    return paths;
}

Result<SmallerLaunch> SmallerLaunch::copy_of(const LaunchFile& file, const std::optional<std::string>& code) {
    SmallerLaunch copy;
    const std::string name = std::filesystem::path(file.path).filename().string();
    copy.file_ = {"launches/" + name, "events.jsonl", file.launch, copy.files_};
    if (Status copied = copy.copy_code(file, code); !copied.ok()) return copied;
    if (Status copied = copy.copy_tensors(file); !copied.ok()) return copied;
    copy.write_record();
    return copy;
}

Status SmallerLaunch::copy_code(const LaunchFile& from, const std::optional<std::string>& code) {
    const Result<std::string> image = code ? *code : image_of(from);
    if (!image.ok()) return image.status();
    std::string& name = file_.launch.image;
    name = name.empty() ? "kernel.image" : std::filesystem::path(name).filename().string();
    file_.launch.image_hash = fnv1a(image.value());
    files_->set("launches/" + name, text_in_memory(image.value()));
    return {};
}

Status SmallerLaunch::copy_tensors(const LaunchFile& from) {
    TensorFiles tensors(from.events, from.files);
    for (const LaunchTensor& tensor : from.launch.tensors) {
        paths_.emplace_back();
        lines_.emplace_back();
        contents_.emplace_back();
        if (element_count(tensor.facts.sizes) == 0) continue;
        const auto saved = tensors.saved_at(
            {EventSide::before, from.launch.run, from.launch.call, tensor.position, tensor.label});
        if (!saved)
            return Status::error("the contents of " + tensor.label + " before " + place_of(from.launch) +
                                 " are not saved. Capture the launch again");
        Result<FileContents> contents = from.files->open(saved->file);
        if (!contents.ok()) return contents.status();
        Json line = Json::parse(saved->line, nullptr, false);
        if (!line.is_object() || !line["path"].is_string())
            return Status::error("the index of the saved tensors is damaged");
        for (const char* member : {"linked_to", "same_as", "hash", "statistics"})
            line.erase(member);
        paths_.back() = "tensors/" + line["path"].get<std::string>();
        lines_.back() = text_of(line);
        files_->set(paths_.back(), contents.value());
        contents_.back() = std::move(contents.value());
    }
    write_index();
    return {};
}

void SmallerLaunch::set_grid(const std::array<std::uint32_t, 3>& grid) {
    file_.launch.grid = grid;
    write_record();
}

void SmallerLaunch::write_record() {
    files_->set(file_.path, text_in_memory(render_launch(file_.launch)));
}

void SmallerLaunch::write_index() {
    std::string index;
    for (const std::string& line : lines_)
        index += line;
    files_->set(kIndexPath, text_in_memory(index));
}

void SmallerLaunch::set_contents(std::size_t tensor, FileContents contents) {
    if (const Result<PtView> view = read_pt(contents.bytes, PtCheck::all_but_checksums); view.ok()) {
        Json line = Json::parse(lines_[tensor], nullptr, false);
        line.erase("saved_storage_bytes");
        if (!line.contains("storage_bytes") || line["storage_bytes"] != view.value().storage.size())
            line["saved_storage_bytes"] = view.value().storage.size();
        lines_[tensor] = text_of(line);
        write_index();
    }
    files_->set(paths_[tensor], contents);
    contents_[tensor] = std::move(contents);
}

}  // namespace aoti_dbg::cli
