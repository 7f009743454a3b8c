// Applies the configuration file of AOTI_DBG_CONFIG: one JSON object with options and rules for kernels.
// Reads no file itself and knows nothing of environment variables.
#pragma once

#include <string_view>
#include <vector>

#include "config/complaints.hpp"
#include "config/options.hpp"

namespace aoti_dbg {

/// Applies `text` on top of `options`. An invalid entry is skipped and adds a complaint with its position. A
/// text that is not a JSON object is skipped as a whole. `path` is for the complaints. Returns the fields (of
/// options.def) that the text set.
std::vector<std::string_view> apply_config_file(std::string_view path, std::string_view text,
                                                Options& options, Complaints& complaints);

/// Returns why the whole text is unusable, as `path:line:column: what`, or an empty string.
std::string fault_of_config_file(std::string_view path, std::string_view text);

}  // namespace aoti_dbg
