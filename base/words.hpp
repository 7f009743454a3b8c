// Builds small parts of sentences. Allocates, so do not use it where the program must not be disturbed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <vector>

namespace aoti_dbg {

/// Returns "1 call" or "3 calls".
inline std::string counted(std::uint64_t number, const char* thing) {
    return std::to_string(number) + " " + thing + (number == 1 ? "" : "s");
}

/// Returns "cuda:1", PyTorch's name of the device.
inline std::string device_name(std::int64_t number) {
    return "cuda:" + std::to_string(number);
}

/// Returns "512 bytes", "64 KiB" or "1.5 GiB".
inline std::string memory_text(std::uint64_t bytes) {
    constexpr const char* kUnits[] = {" KiB", " MiB", " GiB", " TiB"};
    constexpr std::uint64_t kStep = 1024;
    std::uint64_t unit = kStep;
    std::size_t name = 0;
    for (; name + 1 < std::size(kUnits) && bytes / kStep >= unit; ++name)
        unit *= kStep;
    // A distance from a boundary must be exact while it is small.
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
