// `aoti-dbg run`: starts a program under the library and ends the way the program ended.
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
    std::vector<std::pair<std::string, std::string>> variables;  // from flags; they override the environment
    std::vector<std::string> program;                            // at least one word, with the arguments
    std::optional<Requirement> requirement;  // empty means model under AOTI_DBG_CI, else none
    std::optional<int> error_exitcode;       // empty means 1 under AOTI_DBG_CI, else 0
    bool annotates_github = false;
    std::string junit;               // a file; empty if none
    bool verifies_captures = false;  // replays what was captured
};

/// Returns the exit code. If the program exited with 0, findings or an unmet requirement replace its code.
/// Does not return if a signal ended the program: the same signal then ends this process.
int run_program(const RunRequest& request);

}  // namespace aoti_dbg::cli
