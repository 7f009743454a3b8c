// Writes a report's files into the output directory, and its verdict to a file if requested. It must not
// overwrite existing files. A file gets its name only when it is complete.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/status.hpp"
#include "triage/judge/verdict.hpp"

namespace aoti_dbg::cli {

/// Succeeds if the file can be created, including its missing directories. Otherwise returns the reason.
Status can_be_made(const std::string& file);

/// Writes `text` to the new file `path` and creates its missing directories. Modes follow the umask, because
/// other users may read it. Returns the path, as write_new_file() does.
Result<std::string> write_for_others(const std::string& path, const std::string& text);

/// Writes `text` to a new file `folder/stem.ending`, or with `.2`, `.3` after the stem. Returns its path.
Result<std::string> write_new_file(const std::string& folder, const std::string& stem,
                                   const std::string& ending, const std::string& text, mode_t mode = 0600);

/// Writes report.json, and `text` as report.txt, into the directory, which it creates if missing. Returns the
/// path of report.json.
Result<std::string> write_report(const Report& report, const std::string& text, const std::string& folder);

/// Appends the verdict in one write. `report` is the path of report.json, or empty if there is none.
Status append_verdict(const Report& report, const std::string& report_path, const std::string& file);

}  // namespace aoti_dbg::cli
