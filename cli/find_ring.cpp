// See find_ring.hpp. Looks a few folders deep and follows no links but `latest`, so it ends on any tree.
#include "cli/find_ring.hpp"

#include <algorithm>
#include <filesystem>

namespace aoti_dbg::cli {
namespace {

namespace fs = std::filesystem;

/// flight.ring, and flight-PID.ring of further processes in one folder.
bool is_ring_name(const std::string& name) {
    return name.rfind("flight", 0) == 0 && name.find(".ring") != std::string::npos;
}

constexpr int kDeepest = 4;

struct Candidate {
    fs::path path;
    fs::file_time_type time;
};

std::vector<Candidate> rings_below(const fs::path& folder) {
    std::vector<Candidate> found;
    std::error_code failed;
    fs::recursive_directory_iterator entry(folder, fs::directory_options::skip_permission_denied, failed);
    for (; !failed && entry != fs::recursive_directory_iterator(); entry.increment(failed)) {
        if (entry.depth() >= kDeepest) entry.disable_recursion_pending();
        std::error_code unreadable;
        if (!is_ring_name(entry->path().filename().string()) || !entry->is_regular_file(unreadable)) continue;
        const fs::file_time_type time = entry->last_write_time(unreadable);
        if (!unreadable) found.push_back({entry->path(), time});
    }
    std::sort(found.begin(), found.end(), [](const Candidate& a, const Candidate& b) {
        return a.time != b.time ? a.time > b.time : a.path > b.path;
    });
    return found;
}

fs::path newest_in(const fs::path& folder) {
    std::error_code failed;
    for (const Candidate& ring : rings_below(folder)) {
        if (fs::equivalent(ring.path.parent_path(), folder, failed)) return ring.path;
    }
    return {};
}

}  // namespace

Result<FoundRing> find_ring(const std::string& place) {
    std::error_code failed;
    const fs::file_status status = fs::status(place, failed);
    if (!fs::exists(status)) return Status::error(place + ": no such file or folder");
    if (!fs::is_directory(status)) return FoundRing{place, {}};

    const std::vector<Candidate> below = rings_below(place);
    // The newest that lies right here, else in `latest`, else anywhere below.
    fs::path chosen = newest_in(place);
    if (chosen.empty()) chosen = newest_in(fs::path(place) / "latest");
    if (chosen.empty() && !below.empty()) chosen = below.front().path;
    if (chosen.empty()) {
        return Status::error(place +
                             ": no flight.ring in it or below it; was the program run with AOTI_DBG_RING=0, "
                             "or did it make no call?");
    }
    FoundRing found{chosen.string(), {}};
    for (const Candidate& other : below) {
        if (!fs::equivalent(other.path, chosen, failed)) found.others.push_back(other.path.string());
    }
    return found;
}

}  // namespace aoti_dbg::cli
