// Formats a time for people.
#pragma once

#include <array>
#include <ctime>
#include <optional>
#include <string>

namespace aoti_dbg::cli {

/// Returns "2026-11-21 09:30:00", or nothing if the calendar has no such time.
inline std::optional<std::string> local_time(std::time_t seconds) {
    std::tm parts{};
    std::array<char, 64> text{};
    if (localtime_r(&seconds, &parts) == nullptr ||
        std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S", &parts) == 0)
        return std::nullopt;
    return text.data();
}

}  // namespace aoti_dbg::cli
