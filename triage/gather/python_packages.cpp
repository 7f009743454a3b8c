// See python_packages.hpp.
#include "triage/gather/python_packages.hpp"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/mapped_file.hpp"
#include "base/python_program.hpp"
#include "triage/gather/folder_entries.hpp"
#include "triage/gather/kept_packages.hpp"

namespace aoti_dbg {
namespace {

namespace fs = std::filesystem;

/// Returns "2.11.0" for "torch-2.11.0.dist-info".
std::string version_in(const fs::path& packages, const std::string& package) {
    for (const fs::directory_entry& entry : entries_of(packages)) {
        const std::string name = entry.path().filename().string();
        const std::size_t end = name.rfind(".dist-info");
        if (end != std::string::npos && name.rfind(package + "-", 0) == 0)
            return name.substr(package.size() + 1, end - package.size() - 1);
    }
    return {};
}

/// If there are several, the first one counts.
void add_versions_in(const fs::path& packages, NamedTexts& texts) {
    // PyTorch's own builds of Triton are named pytorch_triton.
    constexpr std::pair<const char*, const char*> kPackages[] = {
        {"torch", "torch"}, {"triton", "triton"}, {"triton", "pytorch_triton"}};
    for (const auto& [what, package] : kPackages) {
        const auto is_it = [what = what](const auto& known) { return known.first == what; };
        if (std::any_of(texts.begin(), texts.end(), is_it)) continue;
        const std::string version = version_in(packages, package);
        if (!version.empty()) texts.emplace_back(what, version);
    }
}

/// Returns the folder above torch/ in ".../site-packages/torch/lib/libtorch_cpu.so", or an empty path
/// elsewhere.
fs::path packages_around(const fs::path& libtorch) {
    const fs::path lib = libtorch.parent_path();
    const fs::path torch = lib.parent_path();
    return lib.filename() == "lib" && torch.filename() == "torch" ? torch.parent_path() : fs::path();
}

/// Returns the libtorch in library.json that a kept model called.
fs::path libtorch_of(const fs::path& package) {
    const Result<MappedFile> file = MappedFile::open((package / "library.json").string());
    if (!file.ok()) return {};
    const auto library = nlohmann::json::parse(file.value().text(), nullptr, false);
    if (!library.is_object()) return {};
    const auto torch = library.find("torch_library");
    return torch != library.end() && torch->is_string() ? fs::path(torch->get<std::string>()) : fs::path();
}

}  // namespace

NamedTexts packages_of_python(const std::vector<std::string>& programs) {
    NamedTexts texts;
    for (const std::string& program : programs) {
        const fs::path executable = found_on_path(program);
        if (!is_python(executable.native())) continue;
        for (const fs::directory_entry& entry : entries_of(executable.parent_path().parent_path() / "lib")) {
            if (entry.path().filename().string().rfind("python3", 0) != 0) continue;
            for (const char* packages : {"site-packages", "dist-packages"})
                add_versions_in(entry.path() / packages, texts);
        }
        if (!texts.empty()) break;
    }
    return texts;
}

NamedTexts packages_of_models(const std::string& folder) {
    NamedTexts texts;
    const KeptPackages kept(folder);
    for (const KeptPackage& package : kept.all()) {
        const fs::path packages = packages_around(libtorch_of(package.folder));
        if (!packages.empty()) add_versions_in(packages, texts);
    }
    return texts;
}

}  // namespace aoti_dbg
