// Renders timeline.jsonl: when the device ran each kernel, copy and fill (docs/reference/timeline.md). It
// must compute nothing.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace aoti_dbg {

inline constexpr std::string_view kTimelineFormatName = "aoti-dbg-timeline";
inline constexpr std::uint32_t kTimelineFormatVersion = 1;

/// Names of the library's own kernels, which measure and save tensors, start with this. They belong to no
/// call.
inline constexpr std::string_view kOwnKernels = "aoti_dbg_";

struct TimelineHeader {
    std::uint64_t pid = 0;
    std::string_view source;   // what measured the times: "cupti" or "markers"
    std::string_view library;  // library version
};

/// A device that the process can use. A number that the driver does not know is 0.
struct TimelineDevice {
    std::uint32_t number = 0;  // in this process
    std::string name = {};
    std::uint32_t memory_clock_khz = 0;
    std::uint32_t memory_bus_bits = 0;
};

/// Returns the most bytes per second that the device's memory can transfer, or 0 if unknown. Memory of GPUs
/// transfers twice per clock cycle. Programs reach about 90% of it.
double peak_bytes_per_second(const TimelineDevice& device);

struct DeviceSpan {
    enum class Kind : std::uint8_t { kernel, copy, set };
    Kind kind = Kind::kernel;
    std::uint64_t seq = 0;       // the recorded call that submitted it; 0: none
    std::string kernel = {};     // empty for a copy or a fill
    std::uint64_t start_ns = 0;  // since the epoch
    std::uint64_t end_ns = 0;
    std::uint32_t device = 0;
    std::uint64_t stream = 0;
    std::uint64_t bytes = 0;  // of a copy or a fill
};

struct TimelineCounts {
    std::uint64_t spans = 0;
    std::uint64_t lost = 0;
};

/// Each appends one line to `out`.
void append_timeline_header(const TimelineHeader& header, std::string& out);
void append_timeline_device(const TimelineDevice& device, std::string& out);
void append_span(const DeviceSpan& span, std::string& out);
void append_timeline_coverage(const TimelineCounts& counts, std::string& out);

}  // namespace aoti_dbg
