// Renders a page's data as JSON (docs/reference/page.md), within a number of bytes. What does not fit is left
// out and listed: first statistics over runs, then statistics and arguments of calls, then calls.
#pragma once

#include <cstddef>
#include <string>

#include "cli/page/page_data.hpp"

namespace aoti_dbg::cli {

/// May shorten the lists of the page.
std::string page_json(Page& page, std::size_t most_bytes);

}  // namespace aoti_dbg::cli
