// The option --torch-trace, which several commands have.
#pragma once

#include "base/message.hpp"
#include "base/status.hpp"
#include "cli/command_line.hpp"

namespace aoti_dbg::cli {

inline OptionText torch_trace_option() {
    return {"--torch-trace", "Read the Python lines of kernels from these TORCH_TRACE logs.", "DIR"};
}

/// Prints why the logs cannot be read. Returns the exit code.
inline int refuse_torch_trace(const Status& status) {
    error_message(ErrorCode::unreadable_recording,
                  "%s. Pass the folder that TORCH_TRACE named to --torch-trace.", status.message().c_str());
    return 1;
}

}  // namespace aoti_dbg::cli
