// Prints how long something took.
#pragma once

#include <array>
#include <cstdio>
#include <string>

namespace aoti_dbg::cli {

/// Returns "12.345 ms", in seconds, milliseconds or microseconds.
inline std::string duration_text(double nanoseconds) {
    struct Unit {
        double length;
        const char* name;
    };
    std::array<char, 48> text{};
    for (const Unit& unit : {Unit{1e9, "s"}, Unit{1e6, "ms"}, Unit{1e3, "us"}}) {
        if (nanoseconds < unit.length && unit.length > 1e3) continue;
        std::snprintf(text.data(), text.size(), "%.3f %s", nanoseconds / unit.length, unit.name);
        return text.data();
    }
    return {};
}

}  // namespace aoti_dbg::cli
