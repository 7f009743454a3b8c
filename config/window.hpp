// Selects from things that are counted from 0: a Python slice such as `10:20` or `::1000`, or a single
// number.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/status.hpp"

namespace aoti_dbg {

struct Window {
    std::uint64_t begin = 0;
    std::uint64_t end = UINT64_MAX;  // first number after the window
    std::uint64_t step = 1;

    [[nodiscard]] bool holds(std::uint64_t number) const {
        return number >= begin && number < end && (step == 1 || (number - begin) % step == 0);
    }
    [[nodiscard]] bool holds_everything() const { return begin == 0 && end == UINT64_MAX && step == 1; }
    bool operator==(const Window&) const = default;
};

/// Rejects text that is not a slice, counts from the end, or selects nothing. The total is unknown, so
/// counting from the end is impossible. The message says which.
Result<Window> parse_window(std::string_view text);

}  // namespace aoti_dbg
