// Compares two recordings and prints the result.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace aoti_dbg::cli {

struct RunPair {
    std::uint32_t first = 0;
    std::uint32_t second = 0;
};

struct DiffRequest {
    std::string first;
    std::string second;
    std::optional<RunPair> runs;  // absent: all runs
    bool is_json = false;
};

/// Returns the exit code: 0 equal, 1 different, 2 could not compare.
int diff(const DiffRequest& request);

}  // namespace aoti_dbg::cli
