// The files that a recording has for a row: saved tensors, their histograms, and its captured launch.
#pragma once

#include <string>
#include <vector>

#include "cli/page/page_data.hpp"
#include "cli/page/read_process.hpp"
#include "cli/page/recorded_folder.hpp"

namespace aoti_dbg::cli {

/// Paths are relative to `page_folder`. Also adds the command that repeats the launch of a finding.
void read_row_files(const RecordedFolder& folder, const std::string& page_folder,
                    const std::vector<PageProcessFiles>& processes, Page& page);

}  // namespace aoti_dbg::cli
