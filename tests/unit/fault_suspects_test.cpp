// The likely kernel by the sources' assertions, with hand-written rings and sources. Cases that stay open
// come first.
#include "triage/gather/fault_suspects.hpp"

#include <csignal>
#include <filesystem>

#include "tests/support/catch.hpp"
#include "tests/support/ring_writer.hpp"
#include "tests/support/run_program.hpp"
#include "tests/unit/crash_report_fixture.hpp"

namespace aoti_dbg::test::fault_suspects_test {
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

using Threads = std::vector<std::vector<Record>>;

/// The evidence. Each source is that of a package, and each thread has room for 24 records. With
/// `has_models`, the first source is that of model 0, and so on.
Evidence gathered(const std::vector<std::string>& sources, const Threads& threads, bool has_models = false) {
    const TempFolder folder;
    const ring::FileHeader header = file_header();
    for (std::size_t i = 0; i < sources.size(); ++i) {
        const std::filesystem::path package = folder.path() / "evidence" / ("m" + std::to_string(i));
        std::filesystem::create_directories(package);
        write_text(package / "c.wrapper.cpp", sources[i]);
        if (has_models)
            write_text(package / "models.jsonl",
                       "{\"pid\":4242,\"start_ns\":" + std::to_string(header.start_unix_ns) +
                           ",\"model\":" + std::to_string(i) + ",\"path\":\"/tmp/c.so\"}\n");
    }
    std::string file = file_start() + names_block(kNames);
    for (std::uint32_t i = 0; i < threads.size(); ++i)
        file += thread_block(17 + i, threads[i], 24);
    const Result<ring::Contents> contents = ring::parse_flight_ring(file);
    REQUIRE(contents.ok());
    const RecordedCalls calls(contents.value());
    Evidence evidence = ended_by(SIGABRT);
    evidence.uses_cuda = true;
    evidence.failed = calls.details(*calls.failed());
    const std::optional<ring::Call> found =
        find_suspects(KeptPackages(folder.path().string(), {header.pid, header.start_unix_ns}),
                      contents.value(), calls, evidence);
    CHECK(found.has_value() == evidence.faulted.has_value());
    return evidence;
}

Evidence gathered(const std::string& source, const std::vector<Record>& records) {
    return gathered(std::vector{source}, Threads{records});
}

bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

TEST_CASE("No kernel is likely if sources or the ring say too little") {
    const auto is_open = [](const Evidence& evidence) {
        if (evidence.by_assertion) return false;
        CHECK(contains(judge(evidence).headline, " not known to have finished: "));
        CHECK(evidence.assertions.empty());
        return !evidence.faulted && evidence.suspects.empty();
    };
    const std::vector<Record> records = {of(lookup, 1), failed_wait(2, kAssertion)};
    const std::string harmless = kernel("triton_poi_fused_index_1", "    tl.load(in_ptr0)\n");
    const std::string elsewhere =
        kernel("triton_poi_fused_index_1", "    pass\n    tl.device_assert(tmp0 < 8, \"index\")\n");
    CHECK(is_open(gathered({kLookup, harmless}, Threads{records})));
    CHECK(is_open(gathered({harmless, kLookup}, Threads{records})));
    CHECK(is_open(gathered({kLookup, elsewhere}, Threads{records})));
    CHECK_FALSE(is_open(gathered({kLookup, kLookup}, Threads{records})));
    // A launch counts as one of a numbered kernel only if no kernel has that very name.
    const std::string shorter = kernel("triton_poi_fused_index", "    tl.device_assert(a)\n");
    CHECK(is_open(gathered({shorter, harmless}, Threads{records})));
    CHECK_FALSE(is_open(gathered(shorter, records)));
    // The launch of a graph does not show what the graph runs.
    Record graph = of(library, 2);
    graph.kind = ring::CallKind::graph;
    CHECK(is_open(gathered(kLookup, {of(lookup, 1), graph, failed_wait(3, kAssertion)})));
    // The ring has lost the launches before the oldest, which may be unfinished.
    std::vector<Record> many;
    for (std::uint64_t seq = 1; seq <= 30; ++seq)
        many.push_back(of(seq == 29 ? lookup : plain, seq));
    many.push_back(failed_wait(31, kAssertion));
    CHECK(is_open(gathered(kLookup, many)));
    many[27] = failed_wait(28, 0);
    CHECK_FALSE(is_open(gathered(kLookup, many)));
}

TEST_CASE("Of kernels with one name in several packages, the launch's model decides") {
    const std::string harmless = kernel("triton_poi_fused_index_1", "    tl.load(in_ptr0)\n");
    Record first = of(lookup, 1);
    Record second = of(lookup, 2);
    second.model = 1;
    const Evidence evidence =
        gathered({harmless, kLookup}, {{first, second, failed_wait(3, kAssertion)}}, true);
    CHECK(contains(judge(evidence).headline,
                   "; likely in triton_poi_fused_index_1 (run 0, call 2), at line 4 of its source: of 2 "
                   "launches not known to have finished, only this one has an assertion"));
    CHECK(gathered({kLookup, harmless}, {{first, second, failed_wait(3, kAssertion)}}, true).call()->call ==
          1);
    // A model without evidence has no source.
    second.model = 7;
    CHECK(gathered({kLookup, harmless}, {{first, second, failed_wait(3, kAssertion)}}, true).without_source ==
          1);
}

TEST_CASE("Launches of another thread during the wait are candidates too") {
    Record waited = failed_wait(2, kAssertion);
    waited.end_ticks = waited.begin_ticks + 500;
    const Evidence evidence = gathered({kLookup + kMine}, {{of(lookup, 1), waited}, {of(mine, 3)}});
    CHECK(contains(
        judge(evidence).headline,
        "; likely in one of 2 launches with assertions, of 2 launches not known to have finished: "));
    // Launches after the wait returned are not.
    CHECK(contains(
        judge(gathered({kLookup + kMine}, {{of(lookup, 1), waited}, {of(mine, 9)}})).headline,
        "(run 0, call 1), at line 4 of its source: it has an assertion and is the only launch not known"));
}

TEST_CASE("Kernels without a source here may assert, and the report says so") {
    const Evidence evidence =
        gathered(kLookup, {of(lookup, 1), of(library, 2), of(plain, 3), failed_wait(4, kAssertion)});
    CHECK(contains(
        judge(evidence).headline,
        ": of 3 launches not known to have finished (1 of them without source), only this one has an "
        "assertion"));
    CHECK(contains(text_of(evidence), "  unfinished     triton_poi_fused_index_1 (run 0, call 1)"));
    CHECK(contains(judge(evidence).advice.front(), "If it printed none, this was another fault"));
}

TEST_CASE("The only unfinished launch with an assertion is the likely one") {
    const Evidence evidence =
        gathered(kLookup, {of(lookup, 1), of(plain, 2), failed_wait(3, kAssertion), of(lookup, 4)});
    CHECK(
        judge(evidence).headline ==
        "device-side assertion (CUDA error 710), returned by cuStreamSynchronize (run 0); likely in "
        "triton_poi_fused_index_1 (run 0, call 1), at line 4 of its source: of 2 launches not known to have "
        "finished, only this one has an assertion; the process then ended with SIGABRT");
    REQUIRE(evidence.call() != nullptr);
    CHECK(evidence.call()->is_likely);
    const std::string text = text_of(evidence);
    CHECK(contains(text, "  assertion      line 4: tl.device_assert(tmp0 < 8, \"index\")\n"));
    CHECK(contains(text, "the driver prints a failed assertion"));
    CHECK(contains(text, "  unfinished     triton_poi_fused_index_1 (run 0, call 1), "));
    CHECK(contains(judge(evidence).advice.back(), "--runs 0 --calls 1 "));
    // A core dump of the same fault gives the same fingerprint.
    CHECK(judge(evidence).fingerprint == fingerprint_of({"kernel", "710", "triton_poi_fused_index", "4"}));
    const std::string json = kept_json(evidence);
    CHECK(contains(json, "\"by_assertion\": true"));

    CHECK(contains(judge(gathered(kLookup, {of(lookup, 1), failed_wait(2, 719)})).headline,
                   ": it has an assertion and is the only launch not known to have finished; the"));
    // Another fault, or no kernel with an assertion, leaves it open.
    for (const Evidence& other : {gathered(kLookup, {of(lookup, 1), failed_wait(2, kIllegalAddress)}),
                                  gathered(kMine, {of(lookup, 1), failed_wait(2, kAssertion)}),
                                  gathered("", {of(lookup, 1), failed_wait(2, kAssertion)})}) {
        CHECK(contains(judge(other).headline,
                       "; 1 launch was not known to have finished: triton_poi_fused_index_1"));
        CHECK_FALSE(other.by_assertion);
    }
}

TEST_CASE("Several kernels with assertions are reported as a set, with the lines of their one kernel") {
    std::vector<Record> records;
    for (std::uint64_t seq = 1; seq <= 20; ++seq)
        records.push_back(of(seq % 4 == 0 ? plain : mine, seq));
    records.push_back(failed_wait(21, kAssertion));
    const Evidence evidence = gathered(kLookup + kMine, records);
    CHECK(
        contains(judge(evidence).headline,
                 "; likely in one of 15 launches with assertions, of 20 launches not known to have finished: "
                 "my_kernel_0 (run 0, call 1), my_kernel_0 (run 0, call 2), "));
    CHECK(evidence.call() == nullptr);
    CHECK(contains(text_of(evidence),
                   "  assertions     line 4: tl.device_assert(a)\n                 line 5: "));
    CHECK(judge(evidence).fingerprint == fingerprint_of({"kernel", "710", "my_kernel_0", ""}));
    records[6] = of(lookup, 7);
    const Evidence mixed = gathered(kLookup + kMine, records);
    CHECK(mixed.suspect_count == 15);
    CHECK(mixed.assertions.empty());
    CHECK(judge(mixed).fingerprint == fingerprint_of({"kernel", "710", "", ""}));
}

}  // namespace
}  // namespace aoti_dbg::test::fault_suspects_test
