// Small pieces of sentences. Allocates: not for where a program must not be disturbed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <vector>

namespace aoti_dbg {

/// "1 call", "3 calls"
inline std::string counted(std::uint64_t number, const char* thing) {
    return std::to_string(number) + " " + thing + (number == 1 ? "" : "s");
}

/// "cuda:1", as PyTorch calls it.
inline std::string device_name(std::int64_t number) {
    return "cuda:" + std::to_string(number);
}

/// "512 bytes", "64 KiB", "1.5 GiB"
inline std::string memory_text(std::uint64_t bytes) {
    constexpr const char* kUnits[] = {" KiB", " MiB", " GiB", " TiB"};
    constexpr std::uint64_t kStep = 1024;
    std::uint64_t unit = kStep;
    std::size_t name = 0;
    for (; name + 1 < std::size(kUnits) && bytes / kStep >= unit; ++name)
        unit *= kStep;
    // Near a border every byte counts.
    constexpr std::uint64_t kExact = std::uint64_t{16} << 20U;
    if (bytes < kStep || (bytes % unit != 0 && bytes < kExact)) return counted(bytes, "byte");
    const std::uint64_t tenths = bytes / unit * 10 + (bytes % unit * 10 + unit / 2) / unit;
    const std::string fraction = tenths % 10 == 0 ? "" : "." + std::to_string(tenths % 10);
    return std::to_string(tenths / 10) + fraction + kUnits[name];
}

inline std::string joined(const std::vector<std::string>& texts, const char* between) {
    std::string all;
    for (const std::string& text : texts)
        all += (all.empty() ? "" : between) + text;
    return all;
}

}  // namespace aoti_dbg
