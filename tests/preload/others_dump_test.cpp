// A GPU core dump that was requested outside aoti-dbg. The report reads it in place, and the file stays. If
// it is unavailable, completion markers take its place.
#include <unistd.h>

#include "tests/preload/cuda_models_fixture.hpp"
#include "tests/preload/triage_fixture.hpp"
#include "tests/support/catch.hpp"

namespace aoti_dbg::test::others_dump_test {
namespace {

#ifdef AOTI_DBG_HAS_FAKE_CUDA
const Lines kTwoRuns = cuda_models({"--runs", "2"}, {"stats"});
constexpr const char* kByDump = "illegal memory access in triton_poi_fused_add_3 (run 0, call 4)";
constexpr const char* kByMarkers =
    "illegal memory access (CUDA error 700) in triton_poi_fused_add_3 (run 0, call 4), according to "
    "completion markers";

std::string joined_text(const Lines& words) {
    std::string text;
    for (const std::string& word : words)
        text += "'" + word + "' ";
    return text;
}

Variables faulting(Variables more) {
    more.insert({"FAKE_CUDA_FAIL_AT", "5"});
    return more;
}

TEST_CASE("The report uses a core dump that the user requested, and the dump stays") {
    const TempFolder folder;
    const std::string his = (folder.path() / "his.core").string();
    const Run run(kTriage, kTwoRuns,
                  faulting({{"CUDA_ENABLE_COREDUMP_ON_EXCEPTION", "1"}, {"CUDA_COREDUMP_FILE", his}}));
    CHECK(run.verdict().rfind(kByDump, 0) == 0);
    CHECK(fs::exists(his));
    CHECK(contains(run.report().at("notes").dump(), "was requested outside aoti-dbg, so it is kept: " + his));
    CHECK(contains(run.outcome.err, "The driver writes it to " + his));
    CHECK(Preloaded::files(run.out(), "gpu").size() == 1);  // the pointer to the dump
}

TEST_CASE("The driver's patterns in the dump's name are followed, also in a relative path") {
    // The fake driver expands no patterns, so this name has none to expand.
    const Run run(kTriage, kTwoRuns,
                  faulting({{"CUDA_ENABLE_COREDUMP_ON_EXCEPTION", "1"}, {"CUDA_COREDUMP_FILE", "his.core"}}));
    CHECK(run.verdict().rfind(kByDump, 0) == 0);
    CHECK(fs::exists(run.folder() / "his.core"));
    const Run timed(
        {"--triage", "--keep-dump", "on"}, kTwoRuns,
        faulting({{"CUDA_ENABLE_COREDUMP_ON_EXCEPTION", "1"}, {"CUDA_COREDUMP_FILE", "a_%h_%p"}}));
    const std::vector<fs::path> places = Preloaded::files(timed.out(), "gpu");
    REQUIRE(places.size() == 1);
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    const std::string begin = (timed.folder() / ("a_" + std::string(host) + "_")).string();
    const std::string place = read_text(places[0]);
    REQUIRE(place.rfind(begin, 0) == 0);
    CHECK(place.substr(begin.size()).find_first_not_of("0123456789\n") == std::string::npos);
}

TEST_CASE("If several processes requested one file, the dump belongs to the one whose context failed") {
    const TempFolder folder;
    const std::string program = joined_text(kTwoRuns);
    const std::string script =
        "RANK=0 FAKE_CUDA_FAIL_AT=5 " + program + "; RANK=1 " + program + "; RANK=2 " + program + "; exit 3";
    const Run run(kTriage, {"/bin/sh", "-c", script},
                  {{"CUDA_ENABLE_COREDUMP_ON_EXCEPTION", "1"},
                   {"CUDA_COREDUMP_FILE", (folder.path() / "his.core").string()}});
    CHECK(run.verdict().rfind(kByDump, 0) == 0);
    CHECK(run.report().at("ended").at("rank") == "0");
}

TEST_CASE("A core dump of an earlier run says nothing about this one") {
    const TempFolder folder;
    const fs::path his = folder.path() / "his.core";
    const Variables env =
        faulting({{"CUDA_ENABLE_COREDUMP_ON_EXCEPTION", "1"}, {"CUDA_COREDUMP_FILE", his.string()}});
    const Run first(kTriage, kTwoRuns, env);
    REQUIRE(fs::exists(his));
    fs::last_write_time(his, fs::last_write_time(his) - std::chrono::hours(1));
    const Run sound(kTriage, kTwoRuns,
                    {{"CUDA_ENABLE_COREDUMP_ON_EXCEPTION", "1"}, {"CUDA_COREDUMP_FILE", his.string()}});
    CHECK(sound.outcome.exit_code == 0);
    CHECK_FALSE(sound.has_report());
}

TEST_CASE("If the requested dump cannot be written, markers name the kernel") {
    const Run run(
        kTriage, kTwoRuns,
        faulting({{"CUDA_ENABLE_COREDUMP_ON_EXCEPTION", "1"}, {"CUDA_COREDUMP_FILE", "/nowhere/his.core"}}));
    CHECK(run.outcome.err.find("reports cannot read it at that path (/nowhere/his.core)") !=
          std::string::npos);
    CHECK(contains(run.verdict(), "triton_poi_fused_add_3 (run 0, call 4), according to completion markers"));
}

TEST_CASE("If a variable keeps the driver from writing dumps, markers name the kernel") {
    const Run run(kTriage, kTwoRuns, faulting({{"CUDA_ENABLE_COREDUMP_ON_EXCEPTION", "0"}}));
    CHECK(contains(run.outcome.err, "no GPU core dump: a CUDA_*COREDUMP* variable turns it off"));
    CHECK(run.verdict().rfind(kByMarkers, 0) == 0);
}
#endif

}  // namespace
}  // namespace aoti_dbg::test::others_dump_test
