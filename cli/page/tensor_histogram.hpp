// How often the numbers of a saved tensor fall into each of a few bins.
#pragma once

#include <string>

#include "cli/page/page_data.hpp"

namespace aoti_dbg::cli {

/// Returns no counts if the file is not a tensor, or its finite numbers are all equal.
PageHistogram histogram_of(const std::string& path);

}  // namespace aoti_dbg::cli
