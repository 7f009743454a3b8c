// `aoti-dbg run`: starts a program under the library and ends as it ended.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cli/run_result.hpp"

namespace aoti_dbg::cli {

inline constexpr int kOwnTrouble = 125;  // the convention of env, timeout and nohup
inline constexpr int kNotExecutable = 126;
inline constexpr int kNotFound = 127;

struct RunRequest {
    std::vector<std::pair<std::string, std::string>> variables;  // from flags; they win over the environment
    std::vector<std::string> program;                            // with its arguments, at least one
    Requirement requirement = Requirement::none;
};

/// Returns the exit code, 125 where a program that ended well does not meet the requirement; does not return
/// where a signal ended the program: the same signal ends us.
int run(const RunRequest& request);

}  // namespace aoti_dbg::cli
