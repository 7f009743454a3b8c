// Reads timeline.jsonl: when each kernel ran on the device.
#pragma once

#include <string>

#include "cli/page/page_rows.hpp"

namespace aoti_dbg::cli {

/// Adds the times to the sequences that the rows keep. Lines that cannot be read are skipped.
void read_timeline(const std::string& path, PageRows& rows);

}  // namespace aoti_dbg::cli
