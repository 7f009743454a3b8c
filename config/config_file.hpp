// The configuration file of AOTI_DBG_CONFIG: one JSON object with options, and rules for kernels. Reads no
// file itself and knows nothing of variables.
#pragma once

#include <string_view>
#include <vector>

#include "config/complaints.hpp"
#include "config/options.hpp"

namespace aoti_dbg {

/// Puts what `text` says over `options`. Each wrong entry is a complaint that says where it stands, and is
/// left out; a text that is no JSON object is left out as a whole. `path` is for the complaints. Returns the
/// fields (of options.def) that it set.
std::vector<std::string_view> apply_config_file(std::string_view path, std::string_view text,
                                                Options& options, Complaints& complaints);

/// Why nothing of `text` could be applied, as `path:line:column: what`, or an empty string.
std::string fault_of_config_file(std::string_view path, std::string_view text);

}  // namespace aoti_dbg
