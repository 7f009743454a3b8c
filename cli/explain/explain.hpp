// `aoti-dbg explain CODE`: explains a finding or a crash class, with an example and a remedy.
#pragma once

#include <string>

namespace aoti_dbg::cli {

/// Returns the exit code, 2 if the code is unknown. An empty `code` lists all codes.
int explain(const std::string& code);

}  // namespace aoti_dbg::cli
