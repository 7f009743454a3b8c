// Shared by the tests of level 1: the files in a folder of saved tensors, the index, and whether the two
// agree.
#pragma once

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/preload/preload_support.hpp"
#include "tests/support/catch.hpp"

namespace aoti_dbg::test {

/// Paths of the files below the folder, relative to it, in order.
inline Lines files_below(const std::filesystem::path& folder) {
    Lines found;
    std::error_code none;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder, none)) {
        if (entry.is_regular_file())
            found.push_back(std::filesystem::relative(entry.path(), folder).string());
    }
    std::sort(found.begin(), found.end());
    return found;
}

inline Lines saved(const Preloaded& watched) {
    Lines found = files_below(watched.out() / "tensors");
    found.erase(std::remove(found.begin(), found.end(), "index.jsonl"), found.end());
    return found;
}

inline Lines index_of(const Preloaded& watched) {
    return lines_of(read_text(watched.out() / "tensors" / "index.jsonl"));
}

/// The value of a text member of a line of JSON.
inline std::string member(const std::string& line, const std::string& name) {
    const std::string begin = "\"" + name + "\":\"";
    const std::size_t at = line.find(begin);
    if (at == std::string::npos) return "";
    const std::size_t from = at + begin.size();
    return line.substr(from, line.find('"', from) - from);
}

inline Lines named_in_index(const Preloaded& watched) {
    Lines found;
    for (const std::string& line : index_of(watched)) {
        if (member(line, "event") == "file") found.push_back(member(line, "path"));
    }
    std::sort(found.begin(), found.end());
    return found;
}

inline Lines of_call(const Lines& all, const std::string& folder) {
    Lines found;
    for (const std::string& path : all) {
        if (path.rfind(folder + "/", 0) == 0) found.push_back(path.substr(folder.size() + 1));
    }
    return found;
}

inline void check_whole(const Preloaded& watched) {
    CHECK(saved(watched) == named_in_index(watched));
    REQUIRE_FALSE(index_of(watched).empty());
    CHECK(member(index_of(watched).front(), "event") == "header");
    CHECK(member(index_of(watched).back(), "how") == "complete");
    for (const std::string& path : saved(watched))
        CHECK(read_text(watched.out() / "tensors" / path).rfind("PK", 0) == 0);
}

/// The folders of saved tensors below `out`, one per process.
inline std::vector<std::filesystem::path> folders_of_tensors(const std::filesystem::path& out) {
    std::vector<std::filesystem::path> found;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(out)) {
        if (entry.path().filename().string() == "index.jsonl") found.push_back(entry.path().parent_path());
    }
    return found;
}

}  // namespace aoti_dbg::test
