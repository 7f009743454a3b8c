// How long a captured launch takes.
#pragma once

#include <string>

#include "cli/replay/launched.hpp"

namespace aoti_dbg::cli {

/// Returns a line about the time of one launch. Memory and caches are not reset between launches.
Result<std::string> launch_time(Launched& launched);

}  // namespace aoti_dbg::cli
