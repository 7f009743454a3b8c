// Runs captured launches again, each alone, and compares their results with the recorded ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "compare/element_difference.hpp"
#include "config/window.hpp"

namespace aoti_dbg::cli {

struct ReplayRequest {
    std::string place;
    Window runs;
    Window calls;
    std::uint32_t times = 1;
    bool is_guarded = false;
    std::optional<std::byte> poison;
    std::optional<compare::Closeness> tolerance;  // of the results; no value: bit by bit
    bool is_timed = false;
    bool stops = false;                  // stops in the debugger before each launch
    std::optional<std::string> code;     // instead of the captured one
    std::optional<std::uint32_t> level;  // of optimization, for code that is PTX
    std::string python;                  // the script to write; empty to replay
    std::string minimize;                // the bundle to write; empty to replay
};

inline constexpr int kReplayEqual = 0;
inline constexpr int kReplayDifferent = 1;
inline constexpr int kReplayTrouble = 2;
inline constexpr int kReplayFault = 3;

/// Prints an error, and returns the exit code for it.
int report_trouble(const std::string& why);

/// Returns the exit code: that of the worst launch.
int replay(const ReplayRequest& request);

}  // namespace aoti_dbg::cli
