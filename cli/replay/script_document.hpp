// The Python code of a script that repeats a captured call. docs/reference/messages.md leaves this code out.
#pragma once

#include <string>

#include "cli/replay/launch_files.hpp"
#include "cli/replay/recorded_model.hpp"

namespace aoti_dbg::cli {

/// Returns what comes before the functions. `recording` is the folder or the bundle.
std::string script_head(const LaunchFile& file, const RecordedModel& model, const std::string& recording);

/// Returns the functions that the script calls.
std::string script_functions(bool restores, bool finds_op);

/// True for a function of PyTorch's C shim, which the script looks up among the ops.
bool is_shim(const std::string& op);

/// Returns the statements that call an op with `arguments`. An op of the C shim gets no list for an empty
/// one.
std::string op_call(const std::string& op, bool has_empty_list);

/// Returns the statements that compile a kernel from the file beside the script.
std::string kernel_setup(const LaunchRecord& launch, const std::string& kernel_file);

/// Returns the statements that check results, each with a line in `checks`.
std::string script_end(const std::string& checks);

}  // namespace aoti_dbg::cli
