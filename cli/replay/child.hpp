// Work in a child process. A fault ends a process's context for good, so each fault costs a child.
#pragma once

#include <functional>

#include "base/status.hpp"

namespace aoti_dbg::cli {

/// Returns the exit code that `work` returns. Fails if a signal ends the child. The driver must not have
/// started in this process.
Result<int> run_in_child(const std::function<int()>& work);

}  // namespace aoti_dbg::cli
