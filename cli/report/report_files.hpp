// A report's files in the output folder, and its verdict where somebody waits for it. What stands is not
// overwritten, and a file has its name when it is whole.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/status.hpp"
#include "triage/judge/crash_report.hpp"

namespace aoti_dbg::cli {

/// Whether a file can be made by that path, folders that are missing among it; why not, if not.
Status can_be_made(const std::string& file);

/// `text` as the new file `path`, whose folder is made where it is missing; modes as the umask has them,
/// since it is for others to read. As of the next.
Result<std::string> write_for_others(const std::string& path, const std::string& text);

/// `text` as a new file: `folder/stem.ending`, or with `.2`, `.3` behind the stem. Returns its path.
Result<std::string> write_new_file(const std::string& folder, const std::string& stem,
                                   const std::string& ending, const std::string& text, mode_t mode = 0600);

/// The commands that repeat it as an executable script in the folder, where the page has no room for them;
/// the report then names it. Where it cannot be written they are shortened on the page.
void leave_repeat_script(const std::string& folder, CrashReport& report);

/// report.json, and `text` as report.txt, in the folder, which is made where it is missing. Returns the path
/// of the former.
Result<std::string> write_report(const CrashReport& report, const std::string& text,
                                 const std::string& folder);

/// Appends the verdict in one write; `report` is the path of report.json, empty without one.
Status append_verdict(const CrashReport& report, const std::string& report_path, const std::string& file);

}  // namespace aoti_dbg::cli
