#include "cli/report/old_reports.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "base/file_failure.hpp"
#include "base/message.hpp"
#include "triage/gather/folder_entries.hpp"
#include "triage/render/report_json.hpp"

namespace aoti_dbg::cli {
namespace {

namespace fs = std::filesystem;

using Dated = std::pair<fs::file_time_type, fs::path>;

bool is_report(const fs::path& file) {
    // report_json() begins a file like this.
    const std::string expected = "{\n  \"format\": \"" + std::string(kReportFormatName) + '"';
    std::string begin(expected.size(), '\0');
    std::ifstream stream(file, std::ios::binary);
    return stream.read(begin.data(), static_cast<std::streamsize>(begin.size())) && begin == expected;
}

/// Returns the directories with a report, oldest first. Skips symbolic links, which are users' names for
/// them.
std::vector<Dated> folders_with_reports(const fs::path& parent) {
    std::vector<Dated> found;
    for (const fs::directory_entry& entry : entries_of(parent)) {
        std::error_code unreadable;
        if (entry.is_symlink(unreadable) || !entry.is_directory(unreadable)) continue;
        const fs::path report = entry.path() / "report.json";
        const fs::file_time_type written = fs::last_write_time(report, unreadable);
        if (!unreadable && is_report(report)) found.emplace_back(written, entry.path());
    }
    std::sort(found.begin(), found.end());
    return found;
}

}  // namespace

void remove_old_reports(const std::string& folder, std::uint64_t most) {
    const fs::path own = fs::path(folder).lexically_normal();
    std::vector<Dated> found = folders_with_reports(own.has_parent_path() ? own.parent_path() : ".");
    std::uint64_t surplus = found.size() > most ? found.size() - most : 0;
    std::uint64_t removed = 0;
    for (const auto& [written, path] : found) {
        if (surplus == 0) break;
        if (path.filename() == own.filename()) continue;
        --surplus;
        std::error_code failed;
        fs::remove_all(path, failed);
        if (failed) {
            message(Severity::warn, "cannot remove %s: %s. It still counts against AOTI_DBG_MAX_REPORTS.",
                    path.c_str(), errno_text(failed.value()).c_str());
        } else {
            ++removed;
        }
    }
    if (removed != 0)
        message(Severity::info, "removed %llu older report%s from %s (AOTI_DBG_MAX_REPORTS).",
                static_cast<unsigned long long>(removed), removed == 1 ? "" : "s",
                own.has_parent_path() ? own.parent_path().c_str() : ".");
}

}  // namespace aoti_dbg::cli
