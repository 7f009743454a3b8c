// See find_recorded.hpp. It searches a few directories deep and follows no links but `latest`, so it
// terminates on any tree.
#include "cli/show/find_recorded.hpp"

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "cli/folder_walk.hpp"

namespace aoti_dbg::cli {
namespace {

namespace fs = std::filesystem;

struct KindInfo {
    // The start of its files' names, and what is in them.
    std::string_view start;
    std::string_view part;
    const char* file;
    const char* advice;  // if it is missing
};

const KindInfo& info_of(Recorded kind) {
    static constexpr KindInfo kRing = {
        "flight", ".ring", "flight.ring",
        "Check that the program makes a call, and that AOTI_DBG_RING is not 0"};
    static constexpr KindInfo kEvents = {
        "events", ".jsonl", "events.jsonl",
        "Run the program with --level 2 (AOTI_DBG_LEVEL=2), and check that it calls a model"};
    return kind == Recorded::ring ? kRing : kEvents;
}

bool is_name_of(const KindInfo& kind, const std::string& name) {
    return name.rfind(kind.start, 0) == 0 && name.find(kind.part) != std::string::npos;
}

struct Candidate {
    fs::path path;
    fs::file_time_type time;
};

std::vector<Candidate> files_below(const fs::path& folder, const KindInfo& kind) {
    std::vector<Candidate> found;
    walk_folder(folder, [&](const fs::directory_entry& entry) {
        std::error_code unreadable;
        if (!is_name_of(kind, entry.path().filename().string()) || !entry.is_regular_file(unreadable))
            return true;
        const fs::file_time_type time = entry.last_write_time(unreadable);
        if (!unreadable) found.push_back({entry.path(), time});
        return true;
    });
    std::sort(found.begin(), found.end(), [](const Candidate& a, const Candidate& b) {
        return a.time != b.time ? a.time > b.time : a.path > b.path;
    });
    return found;
}

fs::path newest_in(const fs::path& folder, const KindInfo& kind) {
    std::error_code failed;
    for (const Candidate& file : files_below(folder, kind)) {
        if (fs::equivalent(file.path.parent_path(), folder, failed)) return file.path;
    }
    return {};
}

}  // namespace

Result<FoundFile> find_recorded(const std::string& place, Recorded kind) {
    const KindInfo& info = info_of(kind);
    std::error_code failed;
    const fs::file_status status = fs::status(place, failed);
    if (!fs::exists(status))
        return Status::error("cannot open " + place +
                             ": no such file or directory. Give a recorded file or an output directory");
    if (!fs::is_directory(status)) return FoundFile{place, {}};

    const std::vector<Candidate> below = files_below(place, info);
    // Prefers the newest file directly here, then in `latest`, then anywhere below.
    fs::path chosen = newest_in(place, info);
    if (chosen.empty()) chosen = newest_in(fs::path(place) / "latest", info);
    if (chosen.empty() && !below.empty()) chosen = below.front().path;
    if (chosen.empty())
        return Status::error(std::string("no ") + info.file + " in " + place + " or below it. " +
                             info.advice);
    FoundFile found{chosen.string(), {}};
    for (const Candidate& other : below) {
        if (!fs::equivalent(other.path, chosen, failed)) found.others.push_back(other.path.string());
    }
    return found;
}

}  // namespace aoti_dbg::cli
