// Whose kernel it was by what its source says: of hand-written rings and sources, first those that leave it
// open.
#include "cli/fault_suspects.hpp"

#include <csignal>
#include <filesystem>

#include "tests/support/catch.hpp"
#include "tests/support/ring_writer.hpp"
#include "tests/support/run_program.hpp"
#include "tests/unit/crash_report_fixture.hpp"

namespace aoti_dbg::test {
namespace {

using ring::Record;

enum Name : std::uint32_t { plain, lookup, mine, wait, library };
const std::vector<std::string> kNames = {"triton_poi_fused_sin_0", "triton_poi_fused_index_1", "my_kernel_0",
                                         "cuStreamSynchronize", "gemm_kernel"};
constexpr std::int32_t kAssertion = 710;
constexpr std::int32_t kIllegalAddress = 700;

std::string kernel(const std::string& name, const std::string& statements) {
    return "    async_compile.triton('" + name + "', '''\n@triton.jit\ndef " + name + "(in_ptr0):\n" +
           statements + "    ''', device_str='cuda')\n";
}

const std::string kLookup =
    kernel("triton_poi_fused_sin_0", "    # tl.device_assert(no, 'more')\n    tl.static_device(1)\n") +
    kernel("triton_poi_fused_index_1", "    tl.device_assert(tmp0 < 8, \"index\")\n    tl.load(in_ptr0)\n");
const std::string kMine = kernel("my_kernel", "    tl.device_assert(a)\n    tl.device_assert(b)\n");

Record of(Name name, std::uint64_t seq) {
    Record result = record(seq, name);
    result.stream = 0x70;
    return result;
}

Record failed_wait(std::uint64_t seq, std::int32_t error) {
    Record result = of(wait, seq);
    result.kind = ring::CallKind::wait;
    result.call = ring::kNoCall;
    result.result = error;
    return result;
}

/// With what is concluded from it.
CrashReport told(const std::string& source, const std::vector<Record>& records) {
    const TempFolder folder;
    const std::filesystem::path package = folder.path() / "evidence" / "m";
    std::filesystem::create_directories(package);
    write_text(package / "c.wrapper.cpp", source);
    const Result<ring::Contents> contents =
        ring::parse_flight_ring(file_start() + names_block(kNames) + thread_block(17, records));
    REQUIRE(contents.ok());
    const cli::RecordedCalls calls(contents.value());
    CrashReport report = ended_by(SIGABRT);
    report.uses_cuda = true;
    report.failed = calls.told(*calls.failed());
    const std::optional<ring::Call> found =
        cli::find_suspects(folder.path().string(), contents.value(), calls, report);
    CHECK(found.has_value() == report.faulted.has_value());
    return concluded(report);
}

bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

TEST_CASE("Of the launches that had not ended the only one that asserts is likely the one") {
    const CrashReport report =
        told(kLookup, {of(lookup, 1), of(plain, 2), failed_wait(3, kAssertion), of(lookup, 4)});
    CHECK(
        report.verdict ==
        "assertion on the device (CUDA error 710), returned by cuStreamSynchronize (run 0); likely in "
        "triton_poi_fused_index_1 (run 0, call 1), at line 4 of its source: of 2 launches not known to have "
        "ended it alone asserts; then aborted (SIGABRT)");
    REQUIRE(report.call() != nullptr);
    CHECK(report.call()->is_likely);
    const std::string text = text_of(report);
    CHECK(contains(text, "  asserts     line 4: tl.device_assert(tmp0 < 8, \"index\")\n"));
    CHECK(contains(text, "is printed by the driver"));
    CHECK(contains(report.next.back(), "--runs 0 --calls 1 "));
    // A core dump of the same tells of the same bug.
    CHECK(report.fingerprint == fingerprint_of({"kernel", "710", "triton_poi_fused_index_1", "4"}));
    std::string json;
    append_report_json(report, json);
    CHECK(contains(json, "\"by_assertion\": true"));

    CHECK(contains(told(kLookup, {of(lookup, 1), failed_wait(2, 719)}).verdict,
                   ": it asserts, and all others have ended; then"));
    // Of another fault, and where none asserts, nothing is known.
    for (const CrashReport& other : {told(kLookup, {of(lookup, 1), failed_wait(2, kIllegalAddress)}),
                                     told(kMine, {of(lookup, 1), failed_wait(2, kAssertion)}),
                                     told("", {of(lookup, 1), failed_wait(2, kAssertion)})}) {
        CHECK(contains(other.verdict, "; not known to have ended is one launch: triton_poi_fused_index_1"));
        CHECK_FALSE(other.by_assertion);
    }
}

TEST_CASE("Several that assert are said as a set, with the lines of their one kernel") {
    std::vector<Record> records;
    for (std::uint64_t seq = 1; seq <= 20; ++seq)
        records.push_back(of(seq % 4 == 0 ? plain : mine, seq));
    records.push_back(failed_wait(21, kAssertion));
    const CrashReport report = told(kLookup + kMine, records);
    CHECK(contains(report.verdict,
                   "; likely in one of 15 launches that assert, of 20 not known to have ended: my_kernel_0 "
                   "(run 0, call 1), my_kernel_0 (run 0, call 2), "));
    CHECK(report.call() == nullptr);
    CHECK(contains(text_of(report), "  asserts     line 4: tl.device_assert(a)\n              line 5: "));
    CHECK(report.fingerprint == fingerprint_of({"kernel", "710", "my_kernel_0", ""}));
    records[6] = of(lookup, 7);
    const CrashReport mixed = told(kLookup + kMine, records);
    CHECK(mixed.suspect_count == 15);
    CHECK(mixed.assertions.empty());
    CHECK(mixed.fingerprint == fingerprint_of({"kernel", "710", "", ""}));
}

TEST_CASE("What a graph runs is not told by its launch, so nobody is likely beside one") {
    Record graph = of(library, 2);
    graph.kind = ring::CallKind::graph;
    const CrashReport report = told(kLookup, {of(lookup, 1), graph, failed_wait(3, kAssertion)});
    CHECK_FALSE(report.by_assertion);
    CHECK(contains(report.verdict, "; not known to have ended are 2 launches: "));
}

}  // namespace
}  // namespace aoti_dbg::test
