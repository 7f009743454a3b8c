#include "cli/replay/launch_time.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <vector>

#include "base/words.hpp"

namespace aoti_dbg::cli {
namespace {

constexpr std::size_t kSamples = 21;
constexpr float kSampleMilliseconds = 2;
constexpr float kMostLaunches = 500;

}  // namespace

Result<std::string> launch_time(Launched& launched) {
    // The first launches warm up, and say how many fill a sample.
    constexpr std::uint32_t kFirst = 5;
    const Result<float> first = launched.time(kFirst);
    if (!first.ok()) return first.status();
    const float each = std::max(first.value() / kFirst, 0.0001F);
    const auto count =
        static_cast<std::uint32_t>(std::clamp(kSampleMilliseconds / each, 1.0F, kMostLaunches));
    std::vector<double> microseconds;
    for (std::size_t i = 0; i < kSamples; ++i) {
        const Result<float> sample = launched.time(count);
        if (!sample.ok()) return sample.status();
        microseconds.push_back(double{sample.value()} * 1000 / count);
    }
    std::ranges::sort(microseconds);
    const double median = microseconds[kSamples / 2];
    const double rate = static_cast<double>(launched.bytes()) / median / 1000;
    std::array<char, 128> line{};
    std::snprintf(line.data(), line.size(), "  median %.2f us, lowest %.2f us; %s of memory, %.0f GB/s\n",
                  median, microseconds.front(), memory_text(launched.bytes()).c_str(), rate);
    return std::string(line.data());
}

}  // namespace aoti_dbg::cli
