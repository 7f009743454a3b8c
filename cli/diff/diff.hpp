// Compares two recordings and prints the result.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "compare/rule.hpp"
#include "config/name_patterns.hpp"
#include "config/window.hpp"

namespace aoti_dbg::cli {

struct RunPair {
    std::uint32_t first = 0;
    std::uint32_t second = 0;
};

struct DiffRequest {
    std::string first;
    std::string second;
    std::string reference;        // compare the first recording with it, instead of with a second one
    std::optional<RunPair> pair;  // compare these two runs only
    Window runs;
    NamePatterns kernels;
    compare::Rule rule;
    bool fails_on_bits = false;  // also within the tolerance
    std::size_t limit = 10;      // of listed divergences
    bool is_json = false;
};

inline constexpr int kEqual = 0;
inline constexpr int kDifferent = 1;
inline constexpr int kTrouble = 2;

/// Returns the exit code.
int diff(const DiffRequest& request);

}  // namespace aoti_dbg::cli
