// Limits how many report directories remain when each run creates its own. Otherwise a server that restarts
// after each crash fills its disk.
#pragma once

#include <cstdint>
#include <string>

namespace aoti_dbg::cli {

/// Removes directories beside `folder`, oldest report first, until `most` directories with reports remain,
/// and prints how many it removed. It keeps `folder`, counts only directories with a report of ours, and
/// touches nothing else.
void remove_old_reports(const std::string& folder, std::uint64_t most);

}  // namespace aoti_dbg::cli
