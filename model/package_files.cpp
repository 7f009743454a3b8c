// Finds and reads the files of a package with plain system calls.

#include "model/package_files.hpp"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>

#include "base/file_bytes.hpp"
#include "base/temporary_folder.hpp"

namespace aoti_dbg {
namespace {

/// The most directory entries to read. A package has a dozen, but a compiler's cache folder can have
/// thousands.
constexpr int kMaxFolderEntries = 4096;
/// The most kernel sources to read. A model has one, and older compilers wrote one per kernel.
constexpr std::size_t kMaxKernelSources = 512;

/// Returns the kernel sources of `folder`, sorted. `models` counts the libraries in it.
std::vector<std::string> list_kernel_sources(const std::string& folder, int& models) {
    std::vector<std::string> sources;
    DIR* const directory = ::opendir(folder.empty() ? "." : folder.c_str());
    if (directory == nullptr) return sources;
    for (int seen = 0; seen < kMaxFolderEntries; ++seen) {
        const dirent* const entry = ::readdir(directory);
        if (entry == nullptr) break;
        const std::string_view name = entry->d_name;
        if (name.ends_with(".so")) ++models;
        if (name.ends_with(".kernel.cpp") && sources.size() < kMaxKernelSources) {
            sources.push_back(folder + std::string(name));
        }
    }
    ::closedir(directory);
    std::sort(sources.begin(), sources.end());
    return sources;
}

}  // namespace

PackageFiles find_package_files(const std::string& so_path) {
    PackageFiles files;
    std::string base = so_path;
    if (base.ends_with(".so")) base.resize(base.size() - 3);
    files.wrapper_source = base + ".cpp";
    files.extern_nodes.push_back(base + ".json");
    if (base.ends_with(".wrapper")) files.extern_nodes.push_back(base.substr(0, base.size() - 8) + ".json");
    int models = 0;
    const std::string folder = so_path.substr(0, so_path.rfind('/') + 1);
    files.kernel_sources = list_kernel_sources(folder, models);
    const bool is_shared = models > 1 || is_temporary_folder(folder);
    if (is_shared && ::access(files.wrapper_source.c_str(), R_OK) != 0) files.kernel_sources.clear();
    return files;
}

bool read_file(const std::string& path, std::string& text) {
    text.clear();
    const Descriptor file = open_to_read(path);
    struct stat status = {};
    if (file.number() < 0 || ::fstat(file.number(), &status) != 0 || !S_ISREG(status.st_mode)) return false;
    if (static_cast<std::size_t>(status.st_size) > kLargestFile) return false;
    text.resize(static_cast<std::size_t>(status.st_size));
    if (read_fully(file.number(), text)) return true;
    text.clear();
    return false;
}

}  // namespace aoti_dbg
