// Keeps the folders with reports few where every run makes a folder of its own: a server that is started
// again each time it crashes would fill its disk.
#pragma once

#include <cstdint>
#include <string>

namespace aoti_dbg::cli {

/// Removes folders beside `folder`, those with the oldest reports first, until `most` folders with reports
/// are left, and says so. `folder` stays. Only what has a report of ours is counted, and nothing else is
/// touched.
void remove_old_reports(const std::string& folder, std::uint64_t most);

}  // namespace aoti_dbg::cli
