// timeline.jsonl read back, and any bytes read without harm.
#include "serializer/timeline_reader.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/random.hpp"

namespace aoti_dbg::timeline_reader_test {
namespace {

ByteSource source_of(const std::string& text) {
    return [text, at = std::size_t{0}](char* to, std::size_t bytes) mutable {
        const std::size_t part = std::min(bytes, text.size() - at);
        std::memcpy(to, text.data() + at, part);
        at += part;
        return part;
    };
}

const std::string kHeader =
    R"({"event":"header","format":"aoti-dbg-timeline","version":1,"pid":4242,"source":"cupti","library":"0.1.0"})"
    "\n";
const std::string kDevices =
    R"({"event":"device","device":0,"name":"One","memory_clock_khz":2619000,"memory_bus_bits":5120})"
    "\n"
    R"({"event":"device","device":1,"name":"Two","memory_clock_khz":2619000})"
    "\n";
const std::string kSpan =
    R"({"event":"span","seq":40,"kernel":"triton_poi_fused_0","kind":"kernel","start_ns":1790000000000000000,)"
    R"("end_ns":1790000000000002000,"device":1,"stream":"0x7"})"
    "\n";
const std::string kCopy =
    R"({"event":"span","seq":0,"kernel":"","kind":"copy","start_ns":5,"end_ns":9,"device":0,"stream":"0x8",)"
    R"("bytes":4096})"
    "\n";
const std::string kCoverage = R"({"event":"coverage","counts":{"spans":2,"lost":3}})"
                              "\n";

TEST_CASE("Spans have what the file has") {
    TimelineReader reader(source_of(kHeader + kSpan + kCopy + kCoverage));
    ReadSpan span;
    REQUIRE(reader.next(span));
    CHECK(span.sequence == 40);
    CHECK(span.kernel == "triton_poi_fused_0");
    CHECK(span.kind == "kernel");
    CHECK(span.start_ns == 1790000000000000000U);
    CHECK(span.end_ns - span.start_ns == 2000);
    CHECK(span.device == 1);
    CHECK(span.stream == 7);
    REQUIRE(reader.next(span));
    CHECK(span.sequence == 0);
    CHECK(span.bytes == 4096);
    CHECK_FALSE(reader.next(span));
    CHECK(reader.pid() == 4242);
    CHECK(reader.source() == "cupti");
    CHECK(reader.lost() == 3);
    CHECK(reader.damaged() == 0);
    CHECK_FALSE(reader.is_newer());
}

TEST_CASE("Devices have the peak of their memory, or none if a number is unknown") {
    TimelineReader reader(source_of(kHeader + kDevices + kSpan));
    ReadSpan span;
    REQUIRE(reader.next(span));
    REQUIRE(reader.device(0) != nullptr);
    CHECK(reader.device(0)->name == "One");
    CHECK(peak_bytes_per_second(*reader.device(0)) == 2619e6 * 2 * 640);
    REQUIRE(reader.device(span.device) != nullptr);
    CHECK(peak_bytes_per_second(*reader.device(span.device)) == 0);
    CHECK(reader.device(2) == nullptr);
    TimelineReader rest(source_of(kSpan), reader.devices());
    CHECK(rest.device(1)->name == "Two");
}

TEST_CASE("A line of a device says what is known") {
    std::string lines;
    append_timeline_device({0, "One", 2619000, 5120}, lines);
    append_timeline_device({1, "Two", 2619000, 0}, lines);
    CHECK(lines == kDevices);
}

TEST_CASE("A damaged file cannot add devices without end") {
    std::string lines;
    for (int i = 0; i < 1000; ++i)
        lines += kDevices;
    TimelineReader reader(source_of(lines));
    ReadSpan span;
    CHECK_FALSE(reader.next(span));
    CHECK(reader.devices().size() < 100);
}

TEST_CASE("Lines that are not spans are skipped and counted") {
    std::string backwards = kCopy;
    backwards.replace(backwards.find("\"end_ns\":9"), 10, "\"end_ns\":4");
    TimelineReader reader(
        source_of(kHeader + "rubbish\n" + backwards + "{\"event\":\"new\"}\n" + kSpan + kCopy.substr(0, 40)));
    ReadSpan span;
    REQUIRE(reader.next(span));
    CHECK(span.sequence == 40);
    CHECK_FALSE(reader.next(span));
    CHECK(reader.damaged() == 3);
}

TEST_CASE("A newer version is noted") {
    std::string newer = kHeader;
    newer.replace(newer.find("\"version\":1"), 11, "\"version\":2");
    TimelineReader reader(source_of(newer + kSpan));
    ReadSpan span;
    CHECK(reader.next(span));
    CHECK(reader.is_newer());
}

TEST_CASE("Any bytes are read without harm") {
    const std::string whole = kHeader + kDevices + kSpan + kCopy + kCoverage;
    Random random(39);
    for (int round = 0; round < 2000; ++round) {
        std::string damaged = whole;
        for (std::uint64_t changes = 1 + random.below(4); changes > 0; --changes)
            damaged[random.below(damaged.size())] = static_cast<char>(random.below(256));
        TimelineReader reader(source_of(damaged));
        ReadSpan span;
        while (reader.next(span))
            REQUIRE(span.start_ns <= span.end_ns);
    }
}

}  // namespace
}  // namespace aoti_dbg::timeline_reader_test
