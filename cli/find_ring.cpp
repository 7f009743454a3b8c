// See find_ring.hpp. Looks a few folders deep and follows no links but `latest`, so it ends on any tree.
#include "cli/find_ring.hpp"

#include <algorithm>
#include <filesystem>

namespace aoti_dbg::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kRingName = "flight.ring";
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
        if (entry->path().filename() != kRingName || !entry->is_regular_file(unreadable)) continue;
        const fs::file_time_type time = entry->last_write_time(unreadable);
        if (!unreadable) found.push_back({entry->path(), time});
    }
    std::sort(found.begin(), found.end(), [](const Candidate& a, const Candidate& b) {
        return a.time != b.time ? a.time > b.time : a.path > b.path;
    });
    return found;
}

}  // namespace

Result<FoundRing> find_ring(const std::string& place) {
    std::error_code failed;
    const fs::file_status status = fs::status(place, failed);
    if (!fs::exists(status)) return Status::error(place + ": no such file or folder");
    if (!fs::is_directory(status)) return FoundRing{place, {}};

    const std::vector<Candidate> below = rings_below(place);
    fs::path chosen;
    for (const fs::path& direct : {fs::path(place) / kRingName, fs::path(place) / "latest" / kRingName}) {
        if (chosen.empty() && fs::is_regular_file(direct, failed)) chosen = direct;
    }
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
