// Adds up the time of each kernel of a recording: on the device if it has a timeline, else on the host.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "cli/growing_events.hpp"
#include "cli/growing_lines.hpp"
#include "cli/process_files.hpp"
#include "serializer/timeline_reader.hpp"

namespace aoti_dbg::cli {

struct KernelTime {
    std::string name;
    std::uint64_t count = 0;
    std::uint64_t time_ns = 0;
    std::uint64_t bytes = 0;  // of the tensors of one call, on average; 0: unknown
    // The peak memory bandwidth of the devices that ran it, weighted by the time on each. 0: unknown, or a
    // copy, which another link may limit.
    double peak_bytes_per_second = 0;
};

/// A kind of device that ran something.
struct DevicePeak {
    std::string name;
    double bytes_per_second = 0;  // the peak of its memory; 0: unknown
    auto operator<=>(const DevicePeak&) const = default;
};

struct KernelTimes {
    bool is_device_time = false;
    std::uint64_t processes = 0;
    std::uint64_t total_ns = 0;
    std::uint64_t copied_ns = 0;      // of it, device time of copies and fills
    std::uint64_t overwritten = 0;    // calls of any kind that a ring did not have anymore; 0 while live
    std::vector<KernelTime> kernels;  // the longest time first
    std::set<DevicePeak> devices;     // of the timelines that describe them
};

/// Reads the files of processes again and again, and adds what is new. It keeps a number for each kernel, so
/// its memory does not grow with the recording.
class KernelTimer {
  public:
    /// With `is_live`, host times come from the rings, which are small and have the last calls. Of the
    /// events, it reads what is new, for the bytes of the calls.
    explicit KernelTimer(bool is_live) : is_live_(is_live) {}

    /// `is_final`: the processes have ended, so the last lines of their files are complete.
    void add(const std::vector<ProcessFiles>& processes, bool is_final);
    [[nodiscard]] KernelTimes times() const;

  private:
    struct Sum {
        std::uint64_t count = 0;
        std::uint64_t time_ns = 0;
        std::uint64_t bytes = 0;
        std::uint64_t sized = 0;  // calls whose bytes are known
        double peak_bytes = 0;    // what the memory could transfer in that time
        bool has_peak = true;     // false once it ran on a device whose peak is unknown
    };
    struct Timeline {
        explicit Timeline(const std::string& path) : lines(path) {}
        GrowingLines lines;
        std::vector<TimelineDevice> devices;
        std::set<std::uint32_t> used;  // numbers of devices that have spans
    };
    using Sums = std::map<std::string, Sum, std::less<>>;

    void add_timeline(const std::string& path, bool is_final);
    void add_span(const ReadSpan& span, const TimelineDevice* device);
    void add_ring(const std::string& path);
    void add_events(const std::string& path);
    void add_new_bytes(const std::string& path, bool is_final);
    void add_call(const MeasuredCall& call);
    static void add_bytes(Sum& sum, const MeasuredCall& call);
    static Sum& sum_of(Sums& sums, std::string_view name);

    bool is_live_;
    bool has_timeline_ = false;
    std::uint64_t processes_ = 0;
    std::map<std::string, std::unique_ptr<Timeline>> timelines_;  // by their paths
    std::set<DevicePeak> devices_;
    std::map<std::string, std::unique_ptr<GrowingEvents>> growing_events_;  // by their paths
    // Of a ring, by its path and thread.
    std::map<std::pair<std::string, std::uint32_t>, std::uint64_t> last_numbers_;
    Sums device_;
    Sums host_;
    std::unordered_map<std::uint64_t, std::uint64_t> begun_;  // calls without an end: time by sequence
    bool has_both_sides_ = false;  // some call of the last file of events has its start and its end
    std::uint64_t copied_ns_ = 0;
    std::uint64_t overwritten_ = 0;
};

}  // namespace aoti_dbg::cli
