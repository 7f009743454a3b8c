// `aoti-dbg show` of a GPU core dump: prints what happened.
#pragma once

#include <string>

namespace aoti_dbg::cli {

/// Whether `path` is meant as a GPU core dump: it is an ELF file, or is named as the driver names them.
bool is_gpu_dump(const std::string& path);

/// Returns the exit code: 0, or 1 when it cannot be read.
int show_gpu_dump(const std::string& path);

}  // namespace aoti_dbg::cli
