// Captured launches of CUDA models on the software driver, which `aoti-dbg replay` runs again.
#include <fstream>

#include "tests/preload/cuda_models_fixture.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/places.hpp"

namespace aoti_dbg::test::replay_test {
namespace {

namespace fs = std::filesystem;

const Lines kLaunched = {"triton_poi_fused_relu_0", "triton_poi_fused_gt_arange_1", "triton_poi_fused_sqrt_2",
                         "triton_poi_fused_add_3", "add_kernel_0"};

/// A recording with all launches of two runs.
Preloaded captured() {
    return Preloaded(cuda_models({"--runs", "2"}, {"stats"}),
                     {{"AOTI_DBG_CAPTURE", "triton_*,add_*"}, {"AOTI_DBG_LEVEL", ""}});
}

Outcome replay(const fs::path& out, Lines options = {}) {
    options.insert(options.begin(), {places::kTool, "replay", out.string()});
    return run_program(options, {{"LD_LIBRARY_PATH", places::kFakes}});
}

void replace_in(const fs::path& path, const std::string& from, const std::string& to) {
    std::string text = read_text(path);
    REQUIRE(text.find(from) != std::string::npos);
    text.replace(text.find(from), from.size(), to);
    std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
}

TEST_CASE("The program does not notice that its launches are captured") {
    const Lines argv = cuda_models({"--runs", "2"}, {"stats"});
    const Outcome bare = run_bare(argv, {});
    const Preloaded watched = captured();
    CHECK(watched.outcome.out == bare.out);
    CHECK(watched.outcome.exit_code == bare.exit_code);
    CHECK(contains(watched.outcome.err, "; 10 launches captured; "));
}

TEST_CASE("Each captured launch gives the recorded results again") {
    const Preloaded watched = captured();
    const Outcome replayed = replay(watched.out());
    CAPTURE(replayed.err);
    CHECK(replayed.exit_code == 0);
    Lines expected;
    for (const char* run : {"0", "1"})
        for (std::size_t i = 0; i < kLaunched.size(); ++i)
            expected.push_back("run " + std::string(run) + ", call " + std::to_string(i + 1) + ", " +
                               kLaunched[i] + ": equal to the record");
    CHECK(lines_of(replayed.out) == expected);
    CHECK(replayed.err.empty());
    const Outcome one = replay(watched.out(), {"--runs", "1", "--calls", "3", "--times", "4"});
    CHECK(one.out ==
          "run 1, call 3, triton_poi_fused_sqrt_2: equal to the record\n"
          "  the same outcome in 4 launches\n");
}

TEST_CASE("A path from inside of the recording finds its tensors") {
    const Preloaded watched = captured();
    const std::string inside = (watched.out() / "launches").string();
    for (const char* place : {".", "run0001-call0003.json", "./run0001-call0003.json", "../launches"}) {
        CAPTURE(place);
        const Outcome replayed =
            run_program({places::kTool, "replay", "--runs", "1", "--calls", "3", place},
                        {{"LD_LIBRARY_PATH", places::kFakes}}, std::chrono::seconds(60), inside);
        CHECK(replayed.err.empty());
        CHECK(replayed.out == "run 1, call 3, triton_poi_fused_sqrt_2: equal to the record\n");
    }
}

TEST_CASE("Of several folders with launches, replay reads the newest and says so") {
    const Preloaded watched = captured();
    const fs::path newer = watched.out() / "launches-4242";
    fs::create_directory(newer);
    fs::rename(watched.out() / "launches" / "run0001-call0003.json", newer / "run0001-call0003.json");
    fs::last_write_time(watched.out() / "launches", fs::last_write_time(newer) - std::chrono::seconds(1));
    const Outcome replayed = replay(watched.out());
    CHECK(contains(replayed.err,
                   "reading " + newer.string() + ". Other folders with captured launches here: 1."));
    CHECK(contains(replayed.err, "1 launch has no saved inputs"));
}

TEST_CASE("A launch whose results differ from the record is named with its tensor") {
    const Preloaded watched = captured();
    const fs::path launches = watched.out() / "launches";
    // The kernel gets another count, and leaves the second half as it was. Its zeros are right by chance.
    replace_in(launches / "run0000-call0003.json", R"("bytes":"80000000")", R"("bytes":"40000000")");
    const Outcome replayed = replay(watched.out(), {"--runs", "0", "--calls", "3"});
    CHECK(replayed.exit_code == 1);
    CHECK(lines_of(replayed.out).at(0) == "run 0, call 3, triton_poi_fused_sqrt_2: different");
    CHECK(lines_of(replayed.out).at(1) == "  buf4 float32[8,16]: 51 of 128 elements differ, first at 65");
}

TEST_CASE("A launch that faulted faults again, and the report names the command") {
    const TempFolder folder;
    const fs::path package = folder.path() / "package";
    const fs::path out = folder.path() / "out";
    fs::copy(fs::path(places::kFakes) / "stats", package, fs::copy_options::recursive);
    const fs::path model = package / "data" / "aotinductor" / "model";
    replace_in(model / "csqrt.cubin", "square_root ppipp", "fault ppipp");
    const Outcome faulted =
        run_bare({places::kTool, "run", "--triage", "--capture", "triton_*", "--out", out.string(), "--",
                  victim_path("cuda_models"), "--runs", "1", (model / "cstats.wrapper.so").string()},
                 {{"LD_LIBRARY_PATH", places::kFakes}});
    CAPTURE(faulted.err);
    CHECK(contains(read_text(out / "report.json"), " replay --runs 0 --calls 3 " + out.string()));
    const Outcome replayed = replay(out, {"--runs", "0", "--calls", "3"});
    CHECK(replayed.exit_code == 3);
    CHECK(contains(replayed.out, "run 0, call 3, triton_poi_fused_sqrt_2: the kernel failed: "));
}

TEST_CASE("Launches whose inputs are missing get one line, and the others replay") {
    const Preloaded watched = captured();
    const fs::path tensors = watched.out() / "tensors";
    fs::remove_all(tensors / "run0000" / "call0002");
    // As if the program had been killed.
    const std::string index = read_text(tensors / "index.jsonl");
    std::ofstream(tensors / "index.jsonl", std::ios::trunc) << index.substr(0, index.find(R"("run":1)"));
    const Outcome replayed = replay(watched.out());
    CAPTURE(replayed.out, replayed.err);
    CHECK(replayed.exit_code == 2);
    REQUIRE(lines_of(replayed.err).size() == 1);
    CHECK(
        contains(replayed.err, " launches have no saved inputs: the program ended before they were saved, "));
    CHECK(contains(replayed.err, "The first is buf1 of run 0, call 2, triton_poi_fused_gt_arange_1."));
    const Lines lines = lines_of(replayed.out);
    REQUIRE_FALSE(lines.empty());
    CHECK(lines[0] == "run 0, call 1, triton_poi_fused_relu_0: equal to the record");
    // Files of several threads are in any order, so results of run 0 can be missing, too.
    for (const std::string& line : lines)
        CHECK((line.rfind("run 0, ", 0) == 0 || contains(line, "its recorded result is not saved")));
    CHECK_FALSE(contains(replayed.out, "different"));
    // Nothing else is left.
    const Outcome none = replay(watched.out(), {"--runs", "1"});
    CHECK(none.exit_code == 2);
    CHECK(none.out.empty());
    CHECK(contains(none.err, "5 launches have no saved inputs: "));
}

TEST_CASE("What cannot be replayed is refused with its reason") {
    const Preloaded watched = captured();
    const fs::path out = watched.out();
    const auto refused = [&](const Outcome& replayed, const std::string& reason) {
        CAPTURE(replayed.out, replayed.err);
        CHECK(replayed.exit_code == 2);
        CHECK(contains(replayed.err, reason));
    };
    refused(replay(out / "none"), "cannot read ");
    refused(replay(out / "tensors"), "no launch is captured in ");
    refused(replay(out, {"--runs", "9"}), "no captured launch in ");
    refused(replay(out / "events.jsonl"), "cannot read ");
    const fs::path record = out / "launches" / "run0000-call0001.json";
    const std::string text = read_text(record);
    const std::string image = text.substr(text.find(R"("image":")") + 9, 22);
    std::ofstream(out / "launches" / image, std::ios::app) << "kernel more nop\n";
    refused(replay(record), " is damaged");
    fs::remove(out / "launches" / image);
    refused(replay(record), "cannot read ");
    fs::remove_all(out / "tensors" / "run0000" / "call0002");
    refused(replay(out / "launches" / "run0000-call0002.json"), "1 launch has no saved inputs: ");
}

}  // namespace
}  // namespace aoti_dbg::test::replay_test
