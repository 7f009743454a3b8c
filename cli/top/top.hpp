// Prints the kernels of a recording by time, once or each second while the program runs.
#pragma once

#include <cstddef>
#include <string>

namespace aoti_dbg::cli {

struct TopRequest {
    std::string place;  // a folder, or the number of a running process
    std::size_t limit = 0;
    bool is_json = false;
};

/// Returns the exit code.
int top(const TopRequest& request);

}  // namespace aoti_dbg::cli
