// `aoti-dbg top` adds up a timeline that its process still writes.
#include "cli/top/kernel_times.hpp"

#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/top/top_text.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/ring_writer.hpp"
#include "tests/support/run_program.hpp"

namespace aoti_dbg::cli::kernel_times_test {
namespace {

constexpr std::size_t kStep = std::size_t{64} * 1024;

std::string span_of(const char* kernel, int length) {
    return std::string(R"({"event":"span","seq":1,"kernel":")") + kernel +
           R"(","kind":"kernel","start_ns":1000,"end_ns":)" + std::to_string(1000 + length) +
           R"(,"device":0,"stream":"0x7"})"
           "\n";
}

/// A timeline as its process has written it: newlines wait for the next lines.
void write(const std::string& path, const std::string& lines) {
    std::ofstream(path, std::ios::trunc) << lines << std::string(kStep - lines.size(), '\n');
}

/// Returns zeros for an unknown kernel.
KernelTime found_in(const KernelTimer& timer, std::string_view kernel) {
    for (const KernelTime& one : timer.times().kernels)
        if (one.name == kernel) return one;
    return {};
}

std::uint64_t time_of(const KernelTimer& timer, std::string_view kernel) {
    return found_in(timer, kernel).time_ns;
}

TEST_CASE("Spans that arrive later count, each of them once") {
    const test::TempFolder folder;
    ProcessFiles process;
    process.timeline = folder.path() / "timeline.jsonl";
    KernelTimer timer(true);
    std::string lines = span_of("first", 5);
    write(process.timeline, lines);
    // The last line may be incomplete until a second look finds the same.
    for (int looks = 0; looks < 3; ++looks)
        timer.add({process}, false);
    CHECK(time_of(timer, "first") == 5);
    lines += span_of("second", 7) + span_of("first", 2);
    write(process.timeline, lines);
    timer.add({process}, true);
    CHECK(time_of(timer, "first") == 7);
    CHECK(time_of(timer, "second") == 7);
}

/// 128 GB/s. The second device is twice as fast, and the memory of the third is unknown.
const std::string kDevices =
    R"({"event":"device","device":0,"name":"slow","memory_clock_khz":1000000,"memory_bus_bits":512})"
    "\n"
    R"({"event":"device","device":1,"name":"fast","memory_clock_khz":2000000,"memory_bus_bits":512})"
    "\n"
    R"({"event":"device","device":2,"name":"unknown"})"
    "\n"
    R"({"event":"device","device":3,"name":"idle","memory_clock_khz":1,"memory_bus_bits":1})"
    "\n";

std::string work_of(const char* kernel, const char* kind, int length, int device) {
    return std::string(R"({"event":"span","kernel":")") + kernel + R"(","kind":")" + kind +
           R"(","start_ns":1000,"end_ns":)" + std::to_string(1000 + length) + R"(,"bytes":128,"device":)" +
           std::to_string(device) + "}\n";
}

double peak_of(const KernelTimes& times, std::string_view kernel) {
    for (const KernelTime& one : times.kernels)
        if (one.name == kernel) return one.peak_bytes_per_second;
    return -1;
}

TEST_CASE("The peak of a kernel is that of its devices, weighted by its time on each") {
    const test::TempFolder folder;
    ProcessFiles process;
    process.timeline = folder.path() / "timeline.jsonl";
    KernelTimer timer(true);
    std::string lines = kDevices + work_of("first", "kernel", 30, 0);
    write(process.timeline, lines);
    for (int looks = 0; looks < 3; ++looks)
        timer.add({process}, false);
    // The devices of the first lines are known later, too.
    lines += work_of("first", "kernel", 10, 1) + work_of("second", "kernel", 10, 1) +
             work_of("third", "kernel", 10, 0) + work_of("third", "kernel", 10, 2) +
             work_of("", "copy", 10, 0) + work_of("", "set", 2, 0);
    write(process.timeline, lines);
    timer.add({process}, true);
    const KernelTimes times = timer.times();
    CHECK(peak_of(times, "first") == Approx(160e9));
    CHECK(peak_of(times, "second") == Approx(256e9));
    CHECK(peak_of(times, "third") == 0);
    CHECK(peak_of(times, "(copy)") == 0);
    CHECK(peak_of(times, "(set)") == Approx(128e9));
    const std::set<DevicePeak> used = {{"fast", 256e9}, {"slow", 128e9}, {"unknown", 0}};
    CHECK(times.devices == used);
}

const std::string kDefinitions =
    R"({"event":"header","format":"aoti-dbg-events","version":1,"pid":1})"
    "\n"
    R"({"event":"site","id":1,"kernel":"add","symbol":"add","kind":"op","number":4,"line":321})"
    "\n"
    R"({"event":"argument","id":2,"label":"buf0","fqn":"","parameter":"","position":0,"role":"writes"})"
    "\n"
    R"({"event":"tensor","id":3,"dtype":"float32","device":"cuda:0","layout":"strided","sizes":[8],"strides":[1],)"
    R"("contiguous":true,"storage_offset":0,"storage_bytes":32})"
    "\n"
    R"({"event":"tensor","id":4,"dtype":"float32","device":"cuda:0","layout":"strided","sizes":[4],"strides":[1],)"
    R"("contiguous":true,"storage_offset":0,"storage_bytes":16})"
    "\n";

std::string call_with(int tensor, const char* side = "after") {
    return std::string(R"({"event":"call","side":")") + side +
           R"(","kernel":"add","site":1,"run":0,"call":0,"seq":1,"time_ns":5,"thread":1,"arguments":[{"label":)"
           R"("buf0","argument":2,"tensor":)" +
           std::to_string(tensor) + "}]}\n";
}

std::uint64_t bytes_of(const KernelTimer& timer, std::string_view kernel) {
    return found_in(timer, kernel).bytes;
}

TEST_CASE("The bytes of a call are known while its process runs") {
    const test::TempFolder folder;
    ProcessFiles process;
    process.timeline = folder.path() / "timeline.jsonl";
    process.events = folder.path() / "events.jsonl";
    write(process.timeline, span_of("add", 5) + span_of("other", 5));
    std::string lines = kDefinitions + call_with(3) + call_with(4, "before");
    write(process.events, lines);
    KernelTimer timer(true);
    for (int looks = 0; looks < 3; ++looks)
        timer.add({process}, false);
    CHECK(bytes_of(timer, "add") == 32);
    CHECK(bytes_of(timer, "other") == 0);
    lines += call_with(4) + "damaged\n";
    write(process.events, lines);
    for (int looks = 0; looks < 3; ++looks)
        timer.add({process}, false);
    CHECK(bytes_of(timer, "add") == 24);
    lines += call_with(4);
    write(process.events, lines);
    timer.add({process}, true);
    // As for an ended process.
    KernelTimer ended(false);
    ended.add({process}, true);
    CHECK(bytes_of(timer, "add") == bytes_of(ended, "add"));
    CHECK(bytes_of(timer, "add") == 21);
}

TEST_CASE("A kernel of the events that no ring or timeline has does not count") {
    const test::TempFolder folder;
    ProcessFiles process;
    process.events = folder.path() / "events.jsonl";
    write(process.events, kDefinitions + call_with(3));
    KernelTimer timer(true);
    timer.add({process}, true);
    CHECK(timer.times().kernels.empty());
}

TEST_CASE("Calls that a ring overwrote are counted, except while their process runs") {
    const test::TempFolder folder;
    ProcessFiles process;
    process.ring = folder.path() / "flight.ring";
    std::string block = test::thread_block(11, {test::record(8, 0), test::record(9, 0)});
    ring::BlockHeader header{};
    std::memcpy(&header, block.data(), sizeof header);
    const bool is_live = GENERATE(true, false);
    const std::uint64_t written = GENERATE(2, 9);
    CAPTURE(is_live, written);
    header.written = written;
    std::memcpy(block.data(), &header, sizeof header);
    std::ofstream(process.ring) << test::file_start() + test::names_block({"addmm"}) + block;
    KernelTimer timer(is_live);
    timer.add({process}, true);
    CHECK(found_in(timer, "addmm").count == 2);
    CHECK(timer.times().overwritten == (is_live ? 0 : written - 2));
}

TEST_CASE("The table shows each kind of device, and the share of its peak that a kernel reaches") {
    KernelTimes times;
    times.is_device_time = true;
    times.total_ns = 2000;
    times.kernels = {{"add", 10, 1000, 64, 128e9}, {"(copy)", 1, 1000, 64, 0}};
    times.devices = {{"Software device", 128e9}, {"unknown", 0}};
    CHECK(top_table(times, 2, 0) ==
          "2 kernels, 2.000 us on the device\n"
          "Software device: peak memory bandwidth 128 GB/s\n"
          " share  device time  count      mean     bytes/s  of peak  kernel\n"
          "50.0 %     1.000 us     10  0.100 us  640.0 MB/s    0.5 %  add\n"
          "50.0 %     1.000 us      1  1.000 us   64.0 MB/s        -  (copy)\n");
    const nlohmann::json json = nlohmann::json::parse(top_json(times, 2));
    CHECK(json["kernels"][0]["share_of_peak"].get<double>() == Approx(0.005));
    CHECK(!json["kernels"][1].contains("share_of_peak"));
    CHECK(json["devices"] == nlohmann::json::parse(R"([{"name": "Software device",
        "peak_bytes_per_second": 128e9}, {"name": "unknown"}])"));
}

}  // namespace
}  // namespace aoti_dbg::cli::kernel_times_test
