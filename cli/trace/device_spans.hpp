// Writes the device side of one process into a trace: a track for each device, below it one for each stream,
// and arrows from launches to their kernels.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cli/trace/trace_packets.hpp"
#include "serializer/timeline_reader.hpp"

namespace aoti_dbg::cli {

class DeviceSpans {
  public:
    /// `process` is the number of the process in the trace.
    DeviceSpans(TracePackets& packets, std::uint64_t process) : packets_(packets), process_(process) {}

    [[nodiscard]] bool has_device(std::uint32_t number) const { return devices_.contains(number); }
    /// `label` says what is known of the device. It may be empty.
    void add_device(std::uint32_t number, const std::string& label);
    /// Add the device of the span first.
    void add(const ReadSpan& span);
    /// Writes the spans that still wait for earlier ones.
    void finish();
    [[nodiscard]] std::uint64_t left_out() const { return left_out_; }

  private:
    /// A span that waits.
    struct Waiting {
        std::uint64_t start_ns = 0;
        std::uint64_t end_ns = 0;
        std::uint64_t sequence = 0;
        std::uint64_t stream = 0;
        std::uint64_t bytes = 0;
        std::uint32_t device = 0;
        std::string kernel;
        std::string kind;
    };
    struct Later {
        bool operator()(const Waiting& a, const Waiting& b) const { return a.start_ns > b.start_ns; }
    };
    /// Spans of a stream that overlap have tracks of their own, because slices of a track must nest.
    struct Lane {
        std::uint64_t track = 0;
        std::uint64_t end_ns = 0;
    };
    using Place = std::pair<std::uint32_t, std::uint64_t>;  // device and stream

    void write_first();
    Lane* lane_of(const Waiting& span);

    TracePackets& packets_;
    std::uint64_t process_;
    std::vector<Waiting> waiting_;     // a heap, the earliest first
    std::set<std::uint32_t> devices_;  // written ones
    std::map<Place, std::vector<Lane>> streams_;
    std::uint64_t left_out_ = 0;
};

}  // namespace aoti_dbg::cli
