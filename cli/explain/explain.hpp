// `aoti-dbg explain CODE`: what a finding or a class of crash means, with an example, and what to do.
#pragma once

#include <string>

namespace aoti_dbg::cli {

/// Returns the exit code: 2 where there is no such code. An empty `code` lists all of them.
int explain(const std::string& code);

}  // namespace aoti_dbg::cli
