// Replays the launches that a run captured, and prints how many give the recorded results (--capture-verify).
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace aoti_dbg::cli {

/// Replays the launches captured in the output directory `folder` since `since_unix_ns`, in child processes,
/// and prints a summary. Each child calls `at_start` first.
void verify_captures(const std::string& folder, std::uint64_t since_unix_ns,
                     const std::function<void()>& at_start);

}  // namespace aoti_dbg::cli
