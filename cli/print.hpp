// Writes to standard output for `aoti-dbg show` and the other commands.
#pragma once

#include <string>

namespace aoti_dbg::cli {

/// Returns the exit code: 0, or 1 after an error message if the write failed. A closed pipe (`| head`) is not
/// a failure.
int print(const std::string& text);

}  // namespace aoti_dbg::cli
