#include "cli/trace/device_spans.hpp"

#include <algorithm>

#include "cli/trace/trace_names.hpp"
#include "serializer/number_text.hpp"

namespace aoti_dbg::cli {
namespace {

// Spans arrive in the order in which CUPTI delivers them. This many wait to be put into the order of their
// starts, in about 10 MB.
constexpr std::size_t kMostWaiting = std::size_t{1} << 16U;

// More spans of one stream do not overlap.
constexpr std::size_t kMostLanes = 64;

}  // namespace

void DeviceSpans::add_device(std::uint32_t number, const std::string& label) {
    std::string name = "GPU " + std::to_string(number);
    if (!label.empty()) name.append(" (").append(label).append(")");
    packets_.add_track(trace_id(process_, kDevice, number), trace_id(process_, kProcess, 0), name);
    devices_.insert(number);
}

void DeviceSpans::add(const ReadSpan& span) {
    waiting_.push_back({span.start_ns, span.end_ns, span.sequence, span.stream, span.bytes, span.device,
                        std::string(span.kernel), std::string(span.kind)});
    std::ranges::push_heap(waiting_, Later());
    if (waiting_.size() > kMostWaiting) write_first();
}

DeviceSpans::Lane* DeviceSpans::lane_of(const Waiting& span) {
    std::vector<Lane>& lanes = streams_[{span.device, span.stream}];
    const auto is_free = [&](const Lane& lane) { return lane.end_ns <= span.start_ns; };
    if (const auto free = std::ranges::find_if(lanes, is_free); free != lanes.end()) return &*free;
    if (lanes.size() == kMostLanes) return nullptr;
    const std::uint64_t number =
        span.stream * kMostLanes + lanes.size() + (std::uint64_t{span.device} << 40U) * 0x9E3779B1U;
    Lane& lane = lanes.emplace_back(Lane{trace_id(process_, kStream, number), 0});
    std::string name = stream_text(span.stream);
    if (lanes.size() > 1) name += ", overlap " + std::to_string(lanes.size() - 1);
    packets_.add_track(lane.track, trace_id(process_, kDevice, span.device), name);
    return &lane;
}

void DeviceSpans::write_first() {
    std::ranges::pop_heap(waiting_, Later());
    const Waiting span = std::move(waiting_.back());
    waiting_.pop_back();
    Lane* const lane = lane_of(span);
    if (lane == nullptr) {
        ++left_out_;
        return;
    }
    lane->end_ns = span.end_ns;
    packets_.begin_event(TracePackets::Type::begin, lane->track, span.start_ns);
    packets_.name(span.kernel.empty() ? span.kind : span.kernel);
    const bool is_own = span.kernel.starts_with(kOwnKernels);
    packets_.category(is_own ? "aoti_dbg" : span.kind.empty() ? "kernel" : span.kind);
    if (span.sequence != 0) {
        packets_.flow(trace_id(process_, kFlow, span.sequence));
        packets_.annotate("seq", span.sequence);
    }
    if (span.bytes != 0) packets_.annotate("bytes", span.bytes);
    packets_.end_event();
    packets_.begin_event(TracePackets::Type::end, lane->track, span.end_ns);
    packets_.end_event();
}

void DeviceSpans::finish() {
    while (!waiting_.empty())
        write_first();
}

}  // namespace aoti_dbg::cli
