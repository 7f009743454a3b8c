// `aoti-dbg show FILE.pt`: prints a saved tensor.
#pragma once

#include <string>

namespace aoti_dbg::cli {

/// True for a file whose name ends in .pt.
bool is_saved_tensor(const std::string& path);

/// Returns the exit code: 0, or 1 if the file has no tensor that can be read.
int show_tensor(const std::string& path);

}  // namespace aoti_dbg::cli
