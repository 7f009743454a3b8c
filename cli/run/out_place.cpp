// See out_place.hpp.
#include "cli/run/out_place.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "base/file_failure.hpp"
#include "base/message.hpp"
#include "base/private_folder.hpp"
#include "cli/run/run_environment.hpp"
#include "config/pattern.hpp"
#include "triage/gather/folder_entries.hpp"

namespace aoti_dbg::cli {
namespace {

bool is_asked_for(const std::filesystem::directory_entry& entry) {
    const std::string name = entry.path().filename().string();
    return name.rfind("report", 0) == 0 || name == "tensors";
}

bool has_any_asked_for(const std::string& folder) {
    for (const std::filesystem::directory_entry& entry : entries_of(folder)) {
        if (is_asked_for(entry)) return true;
        std::error_code failed;
        if (!entry.is_directory(failed)) continue;
        const auto inner = entries_of(entry.path().string());
        if (std::any_of(inner.begin(), inner.end(), is_asked_for)) return true;
    }
    return false;
}

}  // namespace

OutPlace::OutPlace(const Options& options, std::int64_t start_unix_ns) {
    if (!options.records_all() || options.ring == 0) return;
    // The process id of the program is not known yet. It does not change the answer.
    const Status chosen = has_room(folder_of(getpid(), start_unix_ns), options.least_room());
    if (chosen.ok()) return;
    const Result<std::string> other = make_private_folder(options.ample_room(), options.least_room());
    if (!other.ok()) {
        message(Severity::warn, "%s, and %s. Nothing is recorded, and a report has few facts. %s",
                chosen.message().c_str(), other.status().message().c_str(),
                remedy_for(chosen, "--out", PlaceKind::directory).c_str());
        return;
    }
    private_folder_ = other.value();
    setenv("AOTI_DBG_OUT", as_pattern(private_folder_).c_str(), 1);
    message(Severity::warn, "%s. The output goes to %s, which is kept if it holds a report. %s",
            chosen.message().c_str(), private_folder_.c_str(),
            remedy_for(chosen, "--out", PlaceKind::directory).c_str());
}

OutPlace::~OutPlace() {
    if (private_folder_.empty()) return;
    if (has_any_asked_for(private_folder_))
        message(Severity::info, "the output of this run is in %s.", private_folder_.c_str());
    else
        remove_private_folder(private_folder_.c_str());
}

}  // namespace aoti_dbg::cli
