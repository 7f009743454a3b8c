// The lines of the wrapper source, from the debug information of a model's `.so`. They serve models whose
// sources are gone. Must accept any file, and must not read sources.
#pragma once

#include <string>

#include "base/status.hpp"
#include "binary/function_lines.hpp"

namespace aoti_dbg {

/// Reads the lines of the function that makes the calls of a run. Fails if the file lacks them.
Result<FunctionLines> read_wrapper_lines(const std::string& so_path);

}  // namespace aoti_dbg
