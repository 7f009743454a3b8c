// Options from given variables and files, for the tests of config/.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/options.hpp"
#include "tests/support/random.hpp"

namespace aoti_dbg {

using Variables = std::map<std::string, std::string>;

inline Environment environment_of(const Variables& variables) {
    return [variables](const char* name) -> const char* {
        const auto found = variables.find(name);
        return found == variables.end() ? nullptr : found->second.c_str();
    };
}

/// The sources with `files` by path; every other path is missing.
inline Sources sources_of(const Variables& variables, const Variables& files = {}) {
    Sources sources;
    sources.environment = environment_of(variables);
    for (const auto& [name, value] : variables)
        if (name.rfind("AOTI_DBG_", 0) == 0) sources.variables.push_back(name);
    sources.read_file = [files](const std::string& path) -> Result<std::string> {
        const auto found = files.find(path);
        if (found == files.end()) return Status::error("cannot open " + path + ": no such file or directory");
        return found->second;
    };
    return sources;
}

struct Parsed {
    Options options;
    std::vector<std::string> complaints;
    bool operator==(const Parsed&) const = default;
};

/// The sources are destroyed when it returns, so options must not point into them.
inline Parsed parse(const Variables& variables, const Variables& files = {}) {
    Parsed parsed;
    parsed.options = parse_options(sources_of(variables, files), parsed.complaints);
    return parsed;
}

/// The same with `json` as the configuration file `c.json`.
inline Parsed parse_file(const std::string& json, Variables variables = {}) {
    variables["AOTI_DBG_CONFIG"] = "c.json";
    return parse(variables, {{"c.json", json}});
}

inline bool contains(std::string_view text, std::string_view part) {
    return text.find(part) != std::string_view::npos;
}

constexpr const char* kPytorchLevel = "AOT_INDUCTOR_DEBUG_INTERMEDIATE_VALUE_PRINTER";
constexpr const char* kFilter = "AOT_INDUCTOR_FILTERED_KERNELS_TO_PRINT";

}  // namespace aoti_dbg
