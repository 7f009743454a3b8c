// `aoti-dbg show` for a GPU core dump: prints what happened.
#pragma once

#include <string>

namespace aoti_dbg::cli {

/// Whether `path` is a GPU core dump: an ELF file, or a file with a name that the driver uses.
bool is_gpu_dump(const std::string& path);

/// Returns the exit code: 0, or 1 if the dump cannot be read.
int show_gpu_dump(const std::string& path);

}  // namespace aoti_dbg::cli
