#include "cli/top/top_text.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/clean_text.hpp"
#include "base/words.hpp"
#include "cli/duration_text.hpp"
#include "cli/text_table.hpp"

namespace aoti_dbg::cli {
namespace {

constexpr std::size_t kNarrowestName = 20;

/// Returns "12.3 %".
std::string share_text(std::uint64_t part, std::uint64_t whole) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%.1f %%",
                  whole == 0 ? 0 : 100 * static_cast<double>(part) / static_cast<double>(whole));
    return text.data();
}

/// Returns the bytes that the calls move per second of their time, or 0 if unknown.
double bytes_per_second(const KernelTime& kernel) {
    if (kernel.bytes == 0 || kernel.time_ns == 0) return 0;
    return static_cast<double>(kernel.bytes) * static_cast<double>(kernel.count) /
           (static_cast<double>(kernel.time_ns) * 1e-9);
}

/// Returns the share of the peak memory bandwidth that the calls reach, or 0 if unknown.
double share_of_peak(const KernelTime& kernel) {
    return kernel.peak_bytes_per_second == 0 ? 0 : bytes_per_second(kernel) / kernel.peak_bytes_per_second;
}

/// Returns "31 %".
std::string share_of_peak_text(const KernelTime& kernel) {
    const double share = share_of_peak(kernel);
    if (share == 0) return "-";
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), share < 0.1 ? "%.1f %%" : "%.0f %%", 100 * share);
    return text.data();
}

/// Returns a line for each kind of device, such as "NVIDIA H200: peak memory bandwidth 4917 GB/s".
std::string device_lines(const KernelTimes& times) {
    std::string text;
    for (const DevicePeak& device : times.devices) {
        if (device.bytes_per_second == 0) continue;
        std::array<char, 64> speed{};
        std::snprintf(speed.data(), speed.size(), ": peak memory bandwidth %.0f GB/s\n",
                      device.bytes_per_second * 1e-9);
        text.append(device.name.empty() ? "GPU" : clean_text(device.name)).append(speed.data());
    }
    return text;
}

std::string speed_text(double bytes) {
    if (bytes == 0) return "-";
    std::array<char, 32> text{};
    const bool is_fast = bytes >= 1e9;
    std::snprintf(text.data(), text.size(), "%.1f %s", bytes * (is_fast ? 1e-9 : 1e-6),
                  is_fast ? "GB/s" : "MB/s");
    return text.data();
}

nlohmann::ordered_json devices_json(const KernelTimes& times) {
    nlohmann::ordered_json devices = nlohmann::ordered_json::array();
    for (const DevicePeak& device : times.devices) {
        nlohmann::ordered_json& one =
            devices.emplace_back(nlohmann::ordered_json{{"name", clean_text(device.name)}});
        if (device.bytes_per_second != 0) one["peak_bytes_per_second"] = device.bytes_per_second;
    }
    return devices;
}

}  // namespace

std::string top_table(const KernelTimes& times, std::size_t most, std::size_t columns) {
    const bool has_bytes = std::ranges::any_of(
        times.kernels, [](const KernelTime& kernel) { return bytes_per_second(kernel) != 0; });
    const bool has_peak = std::ranges::any_of(
        times.kernels, [](const KernelTime& kernel) { return share_of_peak(kernel) != 0; });
    std::vector<TableRow> rows = {
        {"share", times.is_device_time ? "device time" : "host time", "count", "mean"}};
    if (has_bytes) rows.front().emplace_back("bytes/s");
    if (has_peak) rows.front().emplace_back("of peak");
    rows.front().emplace_back("kernel");
    const std::size_t shown = std::min(most, times.kernels.size());
    for (std::size_t i = 0; i < shown; ++i) {
        const KernelTime& kernel = times.kernels[i];
        TableRow& row = rows.emplace_back(
            TableRow{share_text(kernel.time_ns, times.total_ns),
                     duration_text(static_cast<double>(kernel.time_ns)), std::to_string(kernel.count),
                     duration_text(static_cast<double>(kernel.time_ns) /
                                   static_cast<double>(std::max<std::uint64_t>(kernel.count, 1)))});
        if (has_bytes) row.push_back(speed_text(bytes_per_second(kernel)));
        if (has_peak) row.push_back(share_of_peak_text(kernel));
        std::string name;
        append_shortened(kernel.name,
                         columns == 0 ? kernel.name.size() : std::max(kNarrowestName, columns / 2), name);
        row.push_back(std::move(name));
    }
    std::string text = std::to_string(times.kernels.size()) +
                       (times.kernels.size() == 1 ? " kernel, " : " kernels, ") +
                       duration_text(static_cast<double>(times.total_ns)) +
                       (times.is_device_time ? " on the device\n"
                                             : " on the host. If the program uses a GPU, --timeline "
                                               "(AOTI_DBG_TIMELINE=1) records device times.\n");
    if (has_peak) text += device_lines(times);
    std::vector<bool> to_the_right(rows.front().size(), true);
    to_the_right.back() = false;
    text += aligned(rows, to_the_right);
    if (shown < times.kernels.size())
        text += counted(times.kernels.size() - shown, "more kernel") + ". Raise --limit to list all.\n";
    return text;
}

std::string top_json(const KernelTimes& times, std::size_t most) {
    using Json = nlohmann::ordered_json;
    Json kernels = Json::array();
    for (std::size_t i = 0; i < std::min(most, times.kernels.size()); ++i) {
        const KernelTime& kernel = times.kernels[i];
        Json one = {{"name", clean_text(kernel.name)}, {"count", kernel.count}, {"time_ns", kernel.time_ns}};
        one["share"] = times.total_ns == 0
                           ? 0
                           : static_cast<double>(kernel.time_ns) / static_cast<double>(times.total_ns);
        if (kernel.bytes != 0) one["bytes"] = kernel.bytes;
        if (const double speed = bytes_per_second(kernel); speed != 0) one["bytes_per_second"] = speed;
        if (const double share = share_of_peak(kernel); share != 0) one["share_of_peak"] = share;
        kernels.push_back(std::move(one));
    }
    Json all = {{"format", "aoti-dbg-top"},
                {"version", 1},
                {"time", times.is_device_time ? "device" : "host"},
                {"processes", times.processes},
                {"total_ns", times.total_ns},
                {"left_out", times.kernels.size() - kernels.size()},
                {"kernels", std::move(kernels)}};
    if (times.is_device_time) all["devices"] = devices_json(times);
    return all.dump() + "\n";
}

}  // namespace aoti_dbg::cli
