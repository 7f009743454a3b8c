// Writes a Python script that repeats one captured call through torch, and compares its results with the
// recorded ones.
#pragma once

#include <string>

#include "base/status.hpp"
#include "cli/replay/launch_files.hpp"

namespace aoti_dbg::cli {

struct PythonScript {
    std::string text;
    std::string kernel;  // the Triton source, for a file beside the script; empty for an op
};

/// Fails if the recording lacks something that the call needs. `kernel_file` is the name of the file with the
/// Triton source.
Result<PythonScript> python_script(const LaunchFile& file, const std::string& kernel_file);

/// Writes the script, and for a Triton kernel its source beside it. Replaces no file.
Status write_script(const LaunchFile& file, const std::string& path);

}  // namespace aoti_dbg::cli
