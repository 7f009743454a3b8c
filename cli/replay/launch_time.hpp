// How long a captured launch takes.
#pragma once

#include <string>

#include "cli/replay/launched.hpp"

namespace aoti_dbg::cli {

/// Returns a line about the time of one launch. Its memory keeps what earlier launches left, in the caches as
/// well.
Result<std::string> launch_time(Launched& launched);

}  // namespace aoti_dbg::cli
