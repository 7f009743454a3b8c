#include "serializer/timeline_reader.hpp"

#include <algorithm>

#include "serializer/event_fields.hpp"

namespace aoti_dbg {
namespace {

// A process has fewer devices. This bounds the search in a damaged file.
constexpr std::size_t kMostDevices = 64;

}  // namespace

bool TimelineReader::read_span(JsonLine::Value root, ReadSpan& span) {
    span = {};
    if (!read_integer(root.member("start_ns"), span.start_ns)) return false;
    if (!read_integer(root.member("end_ns"), span.end_ns)) return false;
    read_integer(root.member("seq"), span.sequence);
    span.kernel = root.member("kernel").text();
    span.kind = root.member("kind").text();
    read_integer(root.member("device"), span.device);
    read_address(root.member("stream"), span.stream);
    read_integer(root.member("bytes"), span.bytes);
    // Times are positive in the formats that are made of spans.
    return span.start_ns <= span.end_ns && span.end_ns <= INT64_MAX;
}

void TimelineReader::read_header(JsonLine::Value root) {
    std::uint32_t version = 0;
    read_integer(root.member("version"), version);
    is_newer_ = version > kTimelineFormatVersion;
    read_integer(root.member("pid"), pid_);
    source_ = string_of(root.member("source"));
}

void TimelineReader::read_device(JsonLine::Value root) {
    TimelineDevice device;
    if (devices_.size() == kMostDevices || !read_integer(root.member("device"), device.number)) return;
    device.name = string_of(root.member("name"));
    read_integer(root.member("memory_clock_khz"), device.memory_clock_khz);
    read_integer(root.member("memory_bus_bits"), device.memory_bus_bits);
    devices_.push_back(std::move(device));
}

const TimelineDevice* TimelineReader::device(std::uint32_t number) const {
    const auto found = std::ranges::find(devices_, number, &TimelineDevice::number);
    return found == devices_.end() ? nullptr : &*found;
}

bool TimelineReader::next(ReadSpan& span) {
    std::string_view line;
    while (lines_.next(line)) {
        if (lines_.is_too_long() || !json_.parse(line)) {
            ++damaged_;
            continue;
        }
        const JsonLine::Value root = json_.root();
        const std::string_view type = root.member("event").text();
        if (type == "span") {
            if (read_span(root, span)) return true;
            ++damaged_;
        } else if (type == "header") {
            read_header(root);
        } else if (type == "device") {
            read_device(root);
        } else if (type == "coverage") {
            read_integer(root.member("counts").member("lost"), lost_);
        }
    }
    return false;
}

}  // namespace aoti_dbg
