#include "serializer/timeline_jsonl.hpp"

#include "serializer/event_jsonl.hpp"
#include "serializer/jsonl_members.hpp"
#include "serializer/number_text.hpp"

namespace aoti_dbg {
namespace {

std::string_view word_of(DeviceSpan::Kind kind) {
    switch (kind) {
        case DeviceSpan::Kind::kernel:
            return "kernel";
        case DeviceSpan::Kind::copy:
            return "copy";
        case DeviceSpan::Kind::set:
            break;
    }
    return "set";
}

}  // namespace

void append_timeline_header(const TimelineHeader& header, std::string& out) {
    append_member(R"({"event":"header","format":)", kTimelineFormatName, out);
    append_member(R"(,"version":)", kTimelineFormatVersion, out);
    append_member(R"(,"pid":)", header.pid, out);
    append_member(R"(,"source":)", header.source, out);
    append_member(R"(,"library":)", header.library, out);
    out += "}\n";
}

double peak_bytes_per_second(const TimelineDevice& device) {
    constexpr double kTransfersPerCycle = 2;
    return kTransfersPerCycle * 1000 * device.memory_clock_khz * device.memory_bus_bits / 8;
}

void append_timeline_device(const TimelineDevice& device, std::string& out) {
    append_member(R"({"event":"device","device":)", std::uint64_t{device.number}, out);
    if (!device.name.empty()) append_member(R"(,"name":)", device.name, out);
    if (device.memory_clock_khz != 0)
        append_member(R"(,"memory_clock_khz":)", std::uint64_t{device.memory_clock_khz}, out);
    if (device.memory_bus_bits != 0)
        append_member(R"(,"memory_bus_bits":)", std::uint64_t{device.memory_bus_bits}, out);
    out += "}\n";
}

void append_span(const DeviceSpan& span, std::string& out) {
    append_member(R"({"event":"span","seq":)", span.seq, out);
    if (span.kind == DeviceSpan::Kind::kernel) append_member(R"(,"kernel":)", span.kernel, out);
    append_member(R"(,"kind":)", word_of(span.kind), out);
    append_member(R"(,"start_ns":)", span.start_ns, out);
    append_member(R"(,"end_ns":)", span.end_ns, out);
    append_member(R"(,"device":)", std::uint64_t{span.device}, out);
    out += R"(,"stream":"0x)";
    append_short_hex(span.stream, out);
    out += '"';
    if (span.kind != DeviceSpan::Kind::kernel) append_member(R"(,"bytes":)", span.bytes, out);
    out += "}\n";
}

void append_timeline_coverage(const TimelineCounts& counts, std::string& out) {
    append_member(R"({"event":"coverage","counts":{"spans":)", counts.spans, out);
    append_member(R"(,"lost":)", counts.lost, out);
    out += "}}\n";
}

}  // namespace aoti_dbg
