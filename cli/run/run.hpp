// `aoti-dbg run`: starts a program under the library and ends as it ended.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/run/run_result.hpp"

namespace aoti_dbg::cli {

inline constexpr int kOwnTrouble = 125;  // the convention of env, timeout and nohup
inline constexpr int kNotExecutable = 126;
inline constexpr int kNotFound = 127;

struct RunRequest {
    std::vector<std::pair<std::string, std::string>> variables;  // from flags; they win over the environment
    std::vector<std::string> program;                            // with its arguments, at least one
    std::optional<Requirement> requirement;                      // empty: model under AOTI_DBG_CI, else none
    std::optional<int> error_exitcode;                           // empty: 1 under AOTI_DBG_CI, else 0
    bool annotates_github = false;
    std::string junit;  // a file; empty: none
};

/// Returns the exit code. That of a program that ended well is replaced where it does not meet the
/// requirement, or there were findings. Does not return where a signal ended the program: the same signal
/// ends us.
int run(const RunRequest& request);

}  // namespace aoti_dbg::cli
