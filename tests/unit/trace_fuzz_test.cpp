// Damaged recordings become traces without harm, and their slices still nest: in the order of the file, each
// end has a start, and no time goes backwards within a thread.
#include <cstring>
#include <map>
#include <vector>

#include "cli/trace/device_spans.hpp"
#include "cli/trace/host_calls.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/random.hpp"

namespace aoti_dbg::cli::trace_fuzz_test {
namespace {

const std::vector<std::string> kLines = {
    R"({"event":"header","format":"aoti-dbg-events","version":1,"pid":4242,"command":"a","host":"b","rank":"","start_ns":1789999990000000000,"library":"0.1.0"})",
    R"({"event":"model","model":0,"name":"model","path":"/tmp/abc/model.wrapper.so"})",
    R"({"event":"site","id":1,"kernel":"aoti_torch_cuda_addmm_out","symbol":"","kind":"op","number":4,"line":321,"source_nodes":["linear"],"original_aten":["aten.addmm"]})",
    R"({"event":"argument","id":2,"label":"buf0","fqn":"l1.weight","parameter":"out","position":2,"role":"writes"})",
    R"({"event":"tensor","id":5,"dtype":"float32","device":"cuda:0","layout":"strided","sizes":[2,2],"strides":[2,1],"contiguous":true,"storage_offset":0,"storage_bytes":16})",
    R"({"event":"call","side":"inputs","run":3,"model":0,"seq":39,"time_ns":1789999999999000000,"thread":4242,"stream":"0x0","arguments":[]})",
    R"({"event":"call","side":"before","kernel":"k","site":1,"run":3,"call":12,"model":0,"seq":40,"time_ns":1790000000000000000,"thread":4242,"stream":"0x7","arguments":[{"label":"buf0","argument":2,"tensor":5,"dtype":"float32","sizes":[2,2],"measured_at":3,"mean":0.375,"min":-1,"max":2,"std":1.25,"zeros":1,"nan":2},{"label":"s77","argument":3,"value":"8"}]})",
    R"({"event":"call","side":"before","kernel":"inner","run":3,"seq":41,"time_ns":1790000000000001000,"thread":4242,"stream":"0x7","nesting":1})",
    R"({"event":"call","side":"after","kernel":"inner","run":3,"seq":41,"time_ns":1790000000000002000,"thread":4242,"stream":"0x7","nesting":1})",
    R"({"event":"call","side":"after","kernel":"k","site":1,"run":3,"call":12,"model":0,"seq":40,"time_ns":1790000000000005000,"thread":4242,"stream":"0x7","arguments":[{"label":"buf0","argument":2,"tensor":5,"dtype":"complex64","sizes":[2,2],"real":{"mean":"NaN","nan":1},"imaginary":{"mean":1}}]})",
    R"({"event":"finding","version":1,"kind":"nan","code":"AD1102","number":1,"kernel":"k","seq":40,"time_ns":1790000000000005000,"thread":4242,"stream":"0x0","model":0,"run":3,"call":12,"tensor":{"label":"buf0","role":"writes","dtype":"float32","device":"cuda:0","sizes":[2,2]}})",
    R"({"event":"call","side":"outputs","run":3,"model":0,"seq":39,"time_ns":1790000000000006000,"thread":4242,"stream":"0x0","arguments":[]})",
    R"({"event":"forget"})",
};

std::string damaged_file(Random& random) {
    std::vector<std::string> lines = kLines;
    for (std::size_t changes = random.below(4); changes > 0; --changes)
        std::swap(lines[random.below(lines.size())], lines[random.below(lines.size())]);
    for (std::size_t changes = random.below(3); changes > 0; --changes)
        lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(random.below(lines.size())));
    std::string text;
    for (std::size_t repeats = 1 + random.below(3); repeats > 0; --repeats)
        for (const std::string& line : lines)
            text += line + "\n";
    for (std::size_t changes = random.below(6); changes > 0; --changes) {
        char& changed = text[random.below(text.size())];
        changed = random.one_in(2) ? static_cast<char>('0' + random.below(10))
                                   : static_cast<char>(random.below(256));
    }
    return text;
}

std::uint64_t varint(const std::string& bytes, std::size_t& at) {
    std::uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
        REQUIRE(at < bytes.size());
        const auto byte = static_cast<unsigned char>(bytes[at++]);
        value |= std::uint64_t{byte & 0x7FU} << shift;
        if (byte < 0x80) return value;
    }
}

/// Returns the first varint field and the first nested message with that number; 0 and empty if there is
/// none.
std::pair<std::uint64_t, std::string> field(const std::string& bytes, std::uint64_t number) {
    for (std::size_t at = 0; at < bytes.size();) {
        const std::uint64_t tag = varint(bytes, at);
        if ((tag & 7U) == 0) {
            const std::uint64_t value = varint(bytes, at);
            if (tag >> 3U == number) return {value, {}};
        } else if ((tag & 7U) == 1) {
            at += 8;
        } else {
            const std::uint64_t length = varint(bytes, at);
            REQUIRE(length <= bytes.size() - at);
            if (tag >> 3U == number) return {0, bytes.substr(at, length)};
            at += length;
        }
    }
    return {};
}

/// Checks what Perfetto requires of each track.
void check_nesting(const std::string& trace) {
    struct Track {
        std::uint64_t time = 0;
        std::int64_t depth = 0;
    };
    std::map<std::uint64_t, Track> tracks;
    for (std::size_t at = 0; at < trace.size();) {
        REQUIRE(varint(trace, at) == 10);
        const std::uint64_t length = varint(trace, at);
        const std::string packet = trace.substr(at, length);
        at += length;
        const std::string event = field(packet, 11).second;
        const std::uint64_t type = field(event, 9).first;
        if (type != 1 && type != 2) continue;
        Track& track = tracks[field(event, 11).first];
        const std::uint64_t time = field(packet, 8).first;
        REQUIRE(time >= track.time);
        track.time = time;
        track.depth += type == 1 ? 1 : -1;
        REQUIRE(track.depth >= 0);
    }
}

ByteSource source_of(const std::string& text) {
    return [text, at = std::size_t{0}](char* to, std::size_t bytes) mutable {
        const std::size_t part = std::min(bytes, text.size() - at);
        std::memcpy(to, text.data() + at, part);
        at += part;
        return part;
    };
}

TEST_CASE("A damaged recording becomes a trace whose slices nest") {
    Random random(39);
    for (int round = 0; round < 3000; ++round) {
        std::string out;
        TracePackets packets(out);
        HostCalls calls(packets, {1, 4242, true, nullptr});
        EventReader reader(source_of(damaged_file(random)), ArgumentDetail::facts);
        ReadEvent event;
        while (reader.next(event)) {
            if (event.kind == ReadEvent::Kind::call) calls.add_call(event);
            if (event.kind == ReadEvent::Kind::model) calls.add_model(event.model);
            if (event.type != "finding") continue;
            if (const Result<Finding> finding = read_finding(event.line); finding.ok())
                calls.add_finding(finding.value());
        }
        calls.finish();
        check_nesting(out);
    }
}

TEST_CASE("Spans in any order, of any length, do not overlap on a track") {
    Random random(40);
    std::string out;
    TracePackets packets(out);
    DeviceSpans spans(packets, 1);
    spans.add_device(0, "NVIDIA H100");
    for (int i = 0; i < 20000; ++i) {
        ReadSpan span;
        span.sequence = random.below(100);
        span.kernel = "k";
        span.start_ns = 1000 + random.below(1000000);
        span.end_ns = span.start_ns + random.below(200);
        span.stream = random.below(3);
        spans.add(span);
    }
    spans.finish();
    check_nesting(out);
    CHECK(spans.left_out() < 20000);
}

}  // namespace
}  // namespace aoti_dbg::cli::trace_fuzz_test
