// What `aoti-dbg diff` says about the page's recording and an earlier one.
#pragma once

#include <string>

#include "cli/page/page_data.hpp"

namespace aoti_dbg::cli {

/// Compares `first` with `second`, which the page is about. Returns false after an error message if they
/// cannot be compared.
bool add_diff(const std::string& first, const std::string& second, Page& page);

}  // namespace aoti_dbg::cli
