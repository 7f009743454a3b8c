// Which of things that are counted from 0: a Python slice, `10:20`, `::1000`, or a bare number, which is that
// one alone.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/status.hpp"

namespace aoti_dbg {

struct Window {
    std::uint64_t begin = 0;
    std::uint64_t end = UINT64_MAX;  // the first that is no longer in it
    std::uint64_t step = 1;

    [[nodiscard]] bool holds(std::uint64_t number) const {
        return number >= begin && number < end && (step == 1 || (number - begin) % step == 0);
    }
    [[nodiscard]] bool holds_everything() const { return begin == 0 && end == UINT64_MAX && step == 1; }
    bool operator==(const Window&) const = default;
};

/// What is not a slice, counts from the end (nobody knows how many there will be), or holds nothing is an
/// error; its message says which.
Result<Window> parse_window(std::string_view text);

}  // namespace aoti_dbg
