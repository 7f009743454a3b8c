// Small pieces of sentences. Allocates: not for where a program must not be disturbed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace aoti_dbg {

/// "1 call", "3 calls"
inline std::string counted(std::uint64_t number, const char* thing) {
    return std::to_string(number) + " " + thing + (number == 1 ? "" : "s");
}

inline std::string joined(const std::vector<std::string>& texts, const char* between) {
    std::string all;
    for (const std::string& text : texts)
        all += (all.empty() ? "" : between) + text;
    return all;
}

}  // namespace aoti_dbg
