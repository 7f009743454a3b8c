// Standard output, for what `aoti-dbg show` has to say.
#pragma once

#include <string>

namespace aoti_dbg::cli {

/// Returns the exit code: 0, or 1 where it could not be written, which is said. A reader that has seen enough
/// (`| head`) is no failure.
int print(const std::string& text);

}  // namespace aoti_dbg::cli
