#include "cli/replay/recorded_model.hpp"

#include <algorithm>
#include <filesystem>

#include "base/mapped_file.hpp"
#include "cli/bundle/manifest_of.hpp"
#include "cli/recorded_file.hpp"
#include "model/kernel_source.hpp"
#include "serializer/event_fields.hpp"
#include "serializer/line_source.hpp"
#include "triage/gather/kept_packages.hpp"

namespace aoti_dbg::cli {
namespace {

namespace fs = std::filesystem;

/// Returns the path of a model's file, from events.jsonl.
std::string path_of_model(const std::string& events, std::uint32_t number) {
    RecordedFile file(events.c_str());
    LineSource lines([&file](char* to, std::size_t bytes) { return file.read(to, bytes); });
    JsonLine json;
    for (std::string_view line; lines.next(line);) {
        if (line.find(R"("event":"model")") == std::string_view::npos || !json.parse(line)) continue;
        std::uint32_t model = ~0U;
        read_integer(json.root().member("model"), model);
        if (model == number) return string_of(json.root().member("path"));
    }
    return {};
}

std::size_t indent_of(std::string_view line) {
    const std::size_t indent = line.find_first_not_of(' ');
    return indent == std::string_view::npos ? line.size() : indent;
}

/// Removes the blanks that all lines begin with: a C++ wrapper has the source in an indented comment.
std::string without_indent(std::string_view text) {
    std::vector<std::string_view> lines;
    std::size_t least = text.size();
    while (!text.empty()) {
        lines.push_back(text.substr(0, text.find('\n')));
        text.remove_prefix(std::min(lines.back().size() + 1, text.size()));
        const std::size_t indent = indent_of(lines.back());
        if (indent < lines.back().size()) least = std::min(least, indent);
    }
    std::string plain;
    for (const std::string_view line : lines)
        plain.append(line.substr(std::min(least, line.size()))).append("\n");
    return plain;
}

/// A wrapper has the source in a Python text, where backslashes and quotes can have a backslash in front.
std::string unescaped(std::string_view text) {
    std::string plain;
    for (std::size_t at = 0; at < text.size(); ++at) {
        const char next = at + 1 < text.size() ? text[at + 1] : ' ';
        if (text[at] == '\\' && (next == '\\' || next == '\'')) ++at;
        plain += text[at];
    }
    return plain;
}

/// A kernel of the author can have several versions, scale_0 and scale_1, which may share a name in the code.
std::string_view source_in(std::string_view wrapper, const LaunchRecord& launch) {
    for (const std::string& place :
         {launch.kernel + " = async_compile.triton(", "call_" + launch.kernel + "("})
        if (const std::size_t at = wrapper.find(place); at != std::string_view::npos)
            wrapper.remove_prefix(at);
    const std::string_view source = find_kernel_source(wrapper, launch.function);
    return source.empty() ? find_kernel_source(wrapper, launch.kernel) : source;
}

/// The model of a launch in an output directory.
RecordedModel read_model(const LaunchFile& file) {
    RecordedModel model;
    const std::string path = path_of_model(file.events, file.launch.model);
    model.name = fs::path(path).filename().string();
    const KeptPackages packages(fs::path(file.events).parent_path().string());
    for (const KeptPackage& package : packages.all()) {
        // Each process unpacks a package into another folder.
        if (!path.empty() && fs::path(package.library).filename() != model.name) continue;
        model.torch = package.torch;
        for (std::string& wrapper : package.wrappers())
            model.wrappers.push_back(std::move(wrapper));
    }
    return model;
}

}  // namespace

Result<RecordedModels> RecordedModels::open(const LaunchFile& launch) {
    Result<std::optional<BundleManifest>> manifest = manifest_of(launch);
    if (!manifest.ok()) return manifest.status();
    RecordedModels models;
    models.manifest_ = std::move(manifest.value());
    return models;
}

const BundledLaunch* RecordedModels::bundled(const LaunchRecord& launch) const {
    const auto& all = manifest_->launches;
    const auto found = std::ranges::find_if(all, [&launch](const BundledLaunch& one) {
        return one.run == launch.run && one.call == launch.call;
    });
    return found == all.end() ? nullptr : &*found;
}

const RecordedModel& RecordedModels::model_of(const LaunchFile& file) {
    const auto [at, is_new] = models_.try_emplace(file.launch.model);
    if (!is_new) return at->second;
    if (!manifest_)
        at->second = read_model(file);
    else if (const BundledLaunch* const launch = bundled(file.launch))
        at->second = {launch->model, launch->torch, {}};
    return at->second;
}

Result<std::string> RecordedModels::source_of(const LaunchFile& file) {
    if (manifest_) {
        const BundledLaunch* const launch = bundled(file.launch);
        if (launch == nullptr || launch->source.empty()) return std::string();
        const fs::path path = fs::path(file.path).parent_path() / fs::path(launch->source).filename();
        const Result<FileContents> source = file.files->open(path.string());
        return source.ok() ? Result<std::string>(std::string(source.value().text())) : source.status();
    }
    for (const std::string& path : model_of(file).wrappers) {
        const Result<MappedFile> wrapper = MappedFile::open(path);
        if (!wrapper.ok()) continue;
        const std::string_view source = source_in(wrapper.value().text(), file.launch);
        if (!source.empty()) return without_indent(unescaped(source));
    }
    return std::string();
}

}  // namespace aoti_dbg::cli
