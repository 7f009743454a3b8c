// What the page says first: the report of the run, or what its recording shows.
#pragma once

#include "cli/page/page_data.hpp"
#include "cli/page/recorded_folder.hpp"

namespace aoti_dbg::cli {

/// A report.json in the folder knows how the program ended, so it takes precedence.
void read_verdict(const RecordedFolder& folder, Page& page);

}  // namespace aoti_dbg::cli
