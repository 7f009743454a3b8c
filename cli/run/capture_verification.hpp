// Replays what a run captured, and prints how much of it gives the recorded results (--capture-verify).
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace aoti_dbg::cli {

/// Replays the launches that a run has captured since then below its output directory, in child processes,
/// and prints a line about them. `at_start` is called first in each child.
void verify_captures(const std::string& folder, std::uint64_t since_unix_ns,
                     const std::function<void()>& at_start);

}  // namespace aoti_dbg::cli
