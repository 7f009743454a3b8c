// Shared by the tests of level 2 on CUDA models: the records of a run in the log and in events.jsonl, in
// order, and the expected ones for one run of the model. Contains no checks.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "tests/preload/cuda_models_fixture.hpp"
#include "tests/support/places.hpp"

namespace aoti_dbg::test {

inline const Variables kLevel2 = {{"AOTI_DBG_LEVEL", "2"}, {"FAKE_CUDA_EXPLAIN", "1"}};

inline Variables with(Variables more) {
    more.insert(kLevel2.begin(), kLevel2.end());
    return more;
}

struct Record {
    std::string title;  // "before_launch - triton_poi_fused_relu_0 - buf1"
    std::map<std::string, std::string> fields;

    [[nodiscard]] std::string field(const std::string& name) const {
        const auto found = fields.find(name);
        return found == fields.end() ? "" : found->second;
    }
};

/// The records of the log in order, without the values, which have no name.
inline std::vector<Record> records(const Preloaded& run) {
    std::vector<Record> all;
    for (const std::string& line : run.log_lines()) {
        if (line.rfind("[  ", 0) == 0 && ends_with(line, "  ]:")) {
            all.push_back({line.substr(3, line.size() - 3 - 4), {}});
        } else if (const std::size_t colon = line.find(": "); colon != std::string::npos && !all.empty()) {
            all.back().fields.emplace(line.substr(0, colon), line.substr(colon + 2));
        }
    }
    return all;
}

inline std::vector<Record> with_title(const std::vector<Record>& all, const std::string& title) {
    std::vector<Record> found;
    std::copy_if(all.begin(), all.end(), std::back_inserter(found),
                 [&title](const Record& record) { return record.title == title; });
    return found;
}

inline std::vector<std::string> titles_of_run() {
    std::vector<std::string> titles = {"aoti_model_inputs - arg2_1"};
    for (const auto& [kernel, tensors] : kCudaTensors) {
        for (const char* when : {"before_launch - ", "after_launch - "}) {
            for (const std::string& tensor : tensors)
                titles.push_back(when + kernel + " - " + tensor);
        }
    }
    return titles;
}

/// The part of `all` that belongs to these runs of a process. All runs have equally many lines.
inline Lines part_of(const Lines& all, std::size_t runs, const std::vector<std::size_t>& selected) {
    Lines part;
    const std::size_t each = all.size() / runs;
    for (const std::size_t run : selected) {
        const auto begin = all.begin() + static_cast<std::ptrdiff_t>(run * each);
        part.insert(part.end(), begin, begin + static_cast<std::ptrdiff_t>(each));
    }
    return part;
}

/// The titles without those of outputs, which may come at the end of a run.
inline std::vector<std::string> titles_of(const std::vector<Record>& all) {
    std::vector<std::string> titles;
    for (const Record& record : all) {
        if (!contains(record.title, "output")) titles.push_back(record.title);
    }
    return titles;
}

/// The lines of events.jsonl in a folder, or none if there is no such file.
inline Lines event_lines(const std::filesystem::path& folder) {
    return lines_of(read_text(folder / "events.jsonl"));
}

/// Whether each line is a complete object.
inline bool are_whole(const Lines& events) {
    return !events.empty() && std::all_of(events.begin(), events.end(), [](const std::string& line) {
        return line.rfind("{\"event\":\"", 0) == 0 && ends_with(line, "}");
    });
}

inline bool ended_normally(const Lines& events) {
    return !events.empty() && contains(events.back(), "{\"event\":\"coverage\"");
}

inline std::size_t count_of_calls(const Lines& events) {
    return static_cast<std::size_t>(std::count_if(events.begin(), events.end(), [](const std::string& line) {
        return line.rfind("{\"event\":\"call\"", 0) == 0;
    }));
}

/// The log that `aoti-dbg show` recreates from the events.
inline Lines shown_text(const std::filesystem::path& folder) {
    return lines_of(
        run_program({places::kTool, "show", "--format", "text", (folder / "events.jsonl").string()}).out);
}

}  // namespace aoti_dbg::test
