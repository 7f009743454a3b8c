// See surroundings.hpp.
#include "cli/surroundings.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>

#include "cli/folder_entries.hpp"
#include "config/telling_variables.hpp"

extern char** environ;

namespace aoti_dbg::cli {
namespace {

namespace fs = std::filesystem;

/// "2.11.0" of "torch-2.11.0.dist-info"
std::string version_in(const fs::path& packages, const std::string& package) {
    for (const fs::directory_entry& entry : entries_of(packages)) {
        const std::string name = entry.path().filename().string();
        const std::size_t end = name.rfind(".dist-info");
        if (end != std::string::npos && name.rfind(package + "-", 0) == 0)
            return name.substr(package.size() + 1, end - package.size() - 1);
    }
    return {};
}

void add_python_packages(const std::string& program, NamedTexts& texts) {
    const fs::path executable = found_on_path(program);
    if (executable.filename().string().rfind("python", 0) != 0) return;
    for (const fs::directory_entry& entry : entries_of(executable.parent_path().parent_path() / "lib")) {
        if (entry.path().filename().string().rfind("python3", 0) != 0) continue;
        for (const char* packages : {"site-packages", "dist-packages"}) {
            for (const char* package : {"torch", "triton"}) {
                const std::string version = version_in(entry.path() / packages, package);
                if (!version.empty()) texts.emplace_back(package, version);
            }
        }
    }
}

/// What stands behind `name` in a file of lines "Name: value".
std::string value_in(const fs::path& path, const std::string& name) {
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
        if (line.rfind(name, 0) != 0) continue;
        const std::size_t begin = line.find_first_not_of(" \t:", name.size());
        return begin == std::string::npos ? "" : line.substr(begin);
    }
    return {};
}

void add_driver(NamedTexts& texts) {
    std::ifstream file("/proc/driver/nvidia/version");
    std::string word;
    while (file >> word) {
        const bool is_version =
            word.find('.') != std::string::npos && word.find_first_not_of("0123456789.") == std::string::npos;
        if (!is_version) continue;
        texts.emplace_back("driver", word);
        break;
    }
    std::size_t number = 0;
    for (const fs::directory_entry& gpu : entries_of("/proc/driver/nvidia/gpus")) {
        const std::string model = value_in(gpu.path() / "information", "Model");
        if (model.empty()) continue;
        std::string& text = texts.emplace_back("GPU " + std::to_string(number++), model).second;
        text.append(" ").append(value_in(gpu.path() / "information", "GPU UUID"));
    }
}

}  // namespace

fs::path found_on_path(const std::string& program) {
    if (program.find('/') != std::string::npos) return program;
    const char* const path = std::getenv("PATH");
    std::istringstream places(path == nullptr ? "" : path);
    std::error_code failed;
    for (std::string place; std::getline(places, place, ':');)
        if (fs::exists(fs::path(place) / program, failed)) return fs::path(place) / program;
    return {};
}

NamedTexts known_versions(const std::string& program) {
    NamedTexts texts;
    add_python_packages(program, texts);
    add_driver(texts);
    return texts;
}

NamedTexts telling_variables() {
    NamedTexts texts;
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
        const std::string_view text = *entry;
        const std::size_t end = text.find('=');
        if (end != std::string_view::npos && is_telling_variable(text.substr(0, end)))
            texts.emplace_back(text.substr(0, end), text.substr(end + 1));
    }
    std::sort(texts.begin(), texts.end());
    return texts;
}

std::optional<std::uint64_t> count_of_oom_kills() {
    std::ifstream groups("/proc/self/cgroup");
    for (std::string line; std::getline(groups, line);) {
        const bool is_second = line.rfind("0::/", 0) == 0;
        const std::size_t memory = line.find(":memory:/");
        if (!is_second && memory == std::string::npos) continue;
        const std::string group = is_second ? line.substr(3) : line.substr(memory + 8);
        // In a container's own view of the file system its group is the root.
        const std::string root = is_second ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory";
        const std::string file = is_second ? "/memory.events" : "/memory.oom_control";
        for (const std::string& folder : {root + group, root}) {
            const std::string count = value_in(folder + file, "oom_kill ");
            if (!count.empty()) return std::strtoull(count.c_str(), nullptr, 10);
        }
    }
    return std::nullopt;
}

}  // namespace aoti_dbg::cli
