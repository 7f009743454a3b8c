// `aoti-dbg top` adds up a timeline that its process still writes.
#include "cli/top/kernel_times.hpp"

#include <fstream>

#include "tests/support/catch.hpp"
#include "tests/support/run_program.hpp"

namespace aoti_dbg::cli {
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

std::uint64_t time_of(const KernelTimer& timer, std::string_view kernel) {
    for (const KernelTime& one : timer.times().kernels)
        if (one.name == kernel) return one.time_ns;
    return 0;
}

TEST_CASE("Spans that arrive later count, each of them once") {
    const test::TempFolder folder;
    ProcessFiles process;
    process.timeline = folder.path() / "timeline.jsonl";
    KernelTimer timer(false);
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

}  // namespace
}  // namespace aoti_dbg::cli
