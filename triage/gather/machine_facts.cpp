// See machine_facts.hpp.
#include "triage/gather/machine_facts.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>

#include "base/control_group.hpp"
#include "config/relevant_variables.hpp"
#include "triage/gather/folder_entries.hpp"

extern char** environ;

namespace aoti_dbg {
namespace {

namespace fs = std::filesystem;

/// Returns the value after `name` in a file of lines "Name: value".
std::string value_in(const fs::path& path, const std::string& name) {
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
        if (line.rfind(name, 0) != 0) continue;
        const std::size_t begin = line.find_first_not_of(" \t:", name.size());
        return begin == std::string::npos ? "" : line.substr(begin);
    }
    return {};
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

std::string driver_version() {
    std::ifstream file("/proc/driver/nvidia/version");
    for (std::string word; file >> word;) {
        const bool is_version =
            word.find('.') != std::string::npos && word.find_first_not_of("0123456789.") == std::string::npos;
        if (is_version) return word;
    }
    return {};
}

NamedTexts machine_gpus() {
    NamedTexts gpus;
    for (const fs::directory_entry& gpu : entries_of("/proc/driver/nvidia/gpus")) {
        const std::string model = value_in(gpu.path() / "information", "Model");
        if (model.empty()) continue;
        std::string& text = gpus.emplace_back("GPU " + std::to_string(gpus.size()), model).second;
        text.append(" ").append(value_in(gpu.path() / "information", "GPU UUID"));
    }
    return gpus;
}

NamedTexts relevant_variables() {
    NamedTexts texts;
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
        const std::string_view text = *entry;
        const std::size_t end = text.find('=');
        if (end != std::string_view::npos && is_relevant_variable(text.substr(0, end)))
            texts.emplace_back(text.substr(0, end), text.substr(end + 1));
    }
    std::sort(texts.begin(), texts.end());
    return texts;
}

std::optional<std::uint64_t> count_of_oom_kills() {
    for (const ControlGroup& group : memory_control_groups()) {
        const char* const file = group.is_first_version ? "/memory.oom_control" : "/memory.events";
        for (const std::string& folder : {group.root + group.path, group.root}) {
            const std::string count = value_in(folder + file, "oom_kill ");
            if (!count.empty()) return std::strtoull(count.c_str(), nullptr, 10);
        }
    }
    return std::nullopt;
}

}  // namespace aoti_dbg
