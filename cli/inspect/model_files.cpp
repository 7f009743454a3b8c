#include "cli/inspect/model_files.hpp"

#include <map>
#include <string_view>

#include "cli/inspect/model_library.hpp"

namespace aoti_dbg::cli {
namespace {

constexpr std::string_view kPackagedFolder = "data/aotinductor/";

std::string_view folder_of(std::string_view path) {
    return path.substr(0, path.rfind('/') + 1);
}

std::string_view name_of(std::string_view path) {
    return path.substr(path.rfind('/') + 1);
}

/// Returns "model" for ".../data/aotinductor/model/".
std::string_view last_folder(std::string_view folder) {
    if (folder.empty()) return folder;
    folder.remove_suffix(1);
    return name_of(folder);
}

bool is_wrapper(const PackagedFile& file) {
    if (!file.path.ends_with(".cpp") || file.path.ends_with(".kernel.cpp")) return false;
    const std::string_view text = file.text();
    for (const std::string_view word : {"AOTInductorModel", "inductor_entry_impl", "loadKernel("})
        if (text.find(word) != std::string_view::npos) return true;
    return false;
}

bool is_library(const PackagedFile& file) {
    if (!file.path.ends_with(".so")) return false;
    // A damaged library of a package must not disappear silently.
    if (file.path.find(kPackagedFolder) != std::string::npos) return true;
    return is_model_library(file.bytes);
}

/// One folder of the package.
struct Folder {
    std::map<std::string_view, ModelFiles> models;  // by the path without .so and .cpp
    std::vector<const PackagedFile*> kernel_sources;
    std::vector<const PackagedFile*> cubins;
    std::map<std::string_view, const PackagedFile*> json;  // by path
};

const PackagedFile* json_at(const Folder& folder, const std::string& path) {
    const auto found = folder.json.find(path);
    return found == folder.json.end() ? nullptr : found->second;
}

void complete(std::string_view base, std::string_view place, const Folder& folder, ModelFiles& model) {
    const std::string own(base);
    model.folder = place;
    model.name = last_folder(place);
    if (folder.models.size() > 1 || model.name.empty() || model.name == ".") model.name = name_of(base);
    model.extern_nodes = json_at(folder, own + ".json");
    if (model.extern_nodes == nullptr && base.ends_with(".wrapper"))
        model.extern_nodes = json_at(folder, own.substr(0, own.size() - 8) + ".json");
    model.metadata = json_at(folder, own + "_metadata.json");
    if (folder.models.size() > 1) return;  // Nothing says which of them the others belong to.
    model.weights = json_at(folder, model.folder + "weights_config.json");
    model.kernel_information = json_at(folder, model.folder + "kernel_information.json");
    model.kernel_sources = folder.kernel_sources;
    model.cubins = folder.cubins;
}

}  // namespace

std::vector<ModelFiles> find_models(std::span<const PackagedFile> files) {
    std::map<std::string_view, Folder> folders;
    for (const PackagedFile& file : files) {
        const std::string_view path = file.path;
        Folder& folder = folders[folder_of(path)];
        if (path.ends_with(".kernel.cpp")) folder.kernel_sources.push_back(&file);
        if (path.ends_with(".cubin")) folder.cubins.push_back(&file);
        if (path.ends_with(".json")) folder.json.emplace(path, &file);
        if (is_library(file)) folder.models[path.substr(0, path.size() - 3)].library = &file;
        if (is_wrapper(file)) folder.models[path.substr(0, path.size() - 4)].wrapper = &file;
    }
    std::vector<ModelFiles> models;
    for (auto& [place, folder] : folders) {
        for (auto& [base, model] : folder.models) {
            complete(base, place, folder, model);
            models.push_back(model);
        }
    }
    return models;
}

}  // namespace aoti_dbg::cli
