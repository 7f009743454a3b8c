// Which captured launches stay: those of the last runs, of runs with a finding, or of a fault.
#include <fstream>

#include "tests/preload/cuda_models_fixture.hpp"
#include "tests/preload/saved_files.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/places.hpp"

namespace aoti_dbg::test::capture_on_test {
namespace {

namespace fs = std::filesystem;

/// The calls of one run: call 0 is an op, and the others are kernels.
constexpr int kCalls = 6;
constexpr int kKernels = 5;
/// With that op's own, the driver counts this many launches in a run.
constexpr int kLaunches = 6;

/// A recording of models whose run number 1 and every third one after it have NaN.
Preloaded recorded(int runs, Variables variables, const Lines& more = {"--negative", "3"}) {
    variables.insert({"AOTI_DBG_LEVEL", ""});
    return Preloaded(cuda_models(joined({"--runs", std::to_string(runs)}, more), {"stats"}), variables);
}

Lines files_with(const fs::path& out, const std::string& extension) {
    Lines found = files_below(out / "launches");
    std::erase_if(found, [&](const std::string& name) { return !name.ends_with(extension); });
    return found;
}

/// The records of these runs with all of their launches.
Lines records_of(const Lines& runs) {
    Lines names;
    for (const std::string& run : runs)
        for (int call = 0; call < kCalls; ++call)
            names.push_back("run" + run + "-call000" + std::to_string(call) + ".json");
    return names;
}

Outcome replay(const fs::path& out, Lines options = {}) {
    options.insert(options.begin(), {places::kTool, "replay", out.string()});
    return run_program(options, {{"LD_LIBRARY_PATH", places::kFakes}});
}

void check_that_all_replay(const fs::path& out, std::size_t launches) {
    const Outcome replayed = replay(out);
    CAPTURE(replayed.out, replayed.err);
    CHECK(replayed.exit_code == 0);
    CHECK(replayed.err.empty());
    CHECK(lines_of(replayed.out).size() == launches);
}

/// A copy of the model below `folder`, with a kernel that faults.
fs::path faulting_model(const fs::path& folder) {
    fs::copy(fs::path(places::kFakes) / "stats", folder, fs::copy_options::recursive);
    const fs::path model = folder / "data" / "aotinductor" / "model";
    std::string kernel = read_text(model / "csqrt.cubin");
    kernel.replace(kernel.find("square_root"), std::string("square_root").size(), "fault");
    std::ofstream(model / "csqrt.cubin", std::ios::trunc) << kernel;
    return model / "cstats.wrapper.so";
}

TEST_CASE("The launches of exactly the runs with a finding stay, and each replays") {
    const Outcome bare = run_bare(cuda_models({"--runs", "7", "--negative", "3"}, {"stats"}), {});
    const Preloaded watched = recorded(7, {{"AOTI_DBG_CAPTURE_ON", "finding"}});
    CHECK(watched.outcome.out == bare.out);
    CHECK(watched.outcome.exit_code == bare.exit_code);
    CHECK(files_with(watched.out(), ".json") == records_of({"0001", "0004"}));
    CHECK(files_with(watched.out(), ".image").size() == kKernels);
    CHECK(contains(watched.outcome.err, "; 12 launches captured; 30 removed with their runs; "));
    check_that_all_replay(watched.out(), 2 * kCalls);
}

TEST_CASE("Without an output directory no launch is captured, and none goes elsewhere") {
    const Preloaded watched = recorded(1, {{"AOTI_DBG_CAPTURE", "*"}, {"AOTI_DBG_OUT", "/proc/no"}});
    CHECK(watched.outcome.exit_code == 0);
    CHECK(contains(watched.outcome.err, "there is no output directory. No launches are captured. "));
    CHECK_FALSE(contains(watched.outcome.err, "launches captured"));
    const Preloaded ringless = recorded(1, {{"AOTI_DBG_CAPTURE", "*"}, {"AOTI_DBG_RING", "0"}});
    CHECK(files_with(ringless.out(), ".json") == records_of({"0000"}));
}

TEST_CASE("A finding names the command that replays its launch") {
    const Preloaded watched = recorded(2, {{"AOTI_DBG_CAPTURE_ON", "finding"}});
    const std::string file = (watched.out() / "launches" / "run0001-call0003.json").string();
    CHECK(contains(read_text(watched.log()), "\n  replay     aoti-dbg replay " + file + "\n"));
    CHECK(replay(file).out == "run 1, call 3, triton_poi_fused_sqrt_2: equal to the record\n");
    // Its launch is not captured.
    const Preloaded other = recorded(2, {{"AOTI_DBG_CAPTURE", "add_*"}, {"AOTI_DBG_KERNELS", "*"}});
    CHECK(contains(read_text(other.log()), "[ finding 1: NaN in buf4"));
    const Preloaded without = recorded(2, {{"AOTI_DBG_CHECK", "nan"}});
    CHECK(contains(read_text(without.log()), "[ finding 1: NaN in buf4"));
    CHECK_FALSE(contains(read_text(without.log()), "aoti-dbg replay"));
}

TEST_CASE("The report of a finding names the command that replays its launch") {
    const TempFolder folder;
    const fs::path out = folder.path() / "out";
    const Lines victim = cuda_models({"--runs", "2", "--negative", "3"}, {"stats"});
    const Outcome outcome = run_bare(
        joined({places::kTool, "run", "--triage", "--capture-on", "finding", "--out", out.string(), "--"},
               victim),
        {{"LD_LIBRARY_PATH", places::kFakes}});
    CAPTURE(outcome.err);
    CHECK(contains(read_text(out / "report.json"), " replay --runs 1 --calls 3 " + out.string()));
    CHECK(contains(read_text(out / "report.txt"), "run the launch alone"));
    CHECK(replay(out, {"--runs", "1", "--calls", "3"}).exit_code == 0);
}

TEST_CASE("Without a finding no launch and no tensor stays") {
    const Preloaded watched = recorded(4, {{"AOTI_DBG_CAPTURE_ON", "finding"}}, {"--negative", "0"});
    CHECK_FALSE(fs::exists(watched.out() / "launches"));
    CHECK(saved(watched).empty());
    CHECK(contains(watched.outcome.err, "; 0 launches captured; 24 removed with their runs; "));
}

TEST_CASE("The launches of the last runs stay with their tensors, however many runs there were") {
    const Preloaded watched = recorded(2000, {{"AOTI_DBG_CAPTURE", "*sqrt*"}, {"AOTI_DBG_KEEP", "last:2"}});
    CHECK(files_with(watched.out(), ".json") == Lines{"run1998-call0003.json", "run1999-call0003.json"});
    CHECK(files_with(watched.out(), ".image").size() == 1);
    CHECK_FALSE(contains(watched.outcome.err, " warn: "));
    check_that_all_replay(watched.out(), 2);
}

TEST_CASE("Launches of threads and streams that end their runs in any order stay only with their tensors") {
    const Preloaded watched = recorded(60, {{"AOTI_DBG_CAPTURE_ON", "always"}, {"AOTI_DBG_KEEP", "last:3"}},
                                       {"--threads", "3", "--streams", "blocking,nonblocking,per_thread"});
    const Lines records = files_with(watched.out(), ".json");
    CHECK(records.size() >= 3 * kKernels);
    for (const std::string& record : records)
        CHECK(fs::is_directory(watched.out() / "tensors" / record.substr(0, record.find('-'))));
    check_that_all_replay(watched.out(), records.size());
}

TEST_CASE("For a fault nothing stays if there is none") {
    const Outcome bare = run_bare(cuda_models({"--runs", "5"}, {"stats"}), {});
    const Preloaded watched = recorded(5, {{"AOTI_DBG_CAPTURE_ON", "fault"}}, {});
    CHECK(watched.outcome.out == bare.out);
    CHECK(watched.outcome.exit_code == bare.exit_code);
    CHECK_FALSE(fs::exists(watched.out() / "launches"));
    CHECK(saved(watched).empty());
    CHECK(contains(watched.outcome.err, " removed because nothing faulted"));
    CHECK(contains(index_of(watched).back(), "\"no_fault\":"));
}

TEST_CASE("The launch that faulted stays, and faults again") {
    const TempFolder folder;
    const fs::path model = faulting_model(folder.path() / "package");
    for (const std::string triage : {"--triage=off", "--triage=on"}) {
        CAPTURE(triage);
        const fs::path out = folder.path() / triage;
        const Lines victim = {victim_path("cuda_models"), "--runs", "3", model.string()};
        const Outcome bare = run_bare(victim, {{"LD_LIBRARY_PATH", places::kFakes}});
        const Outcome faulted = run_bare(
            joined({places::kTool, "run", triage, "--capture-on", "fault", "--out", out.string(), "--"},
                   victim),
            {{"LD_LIBRARY_PATH", places::kFakes}});
        CAPTURE(faulted.err);
        CHECK(faulted.out == bare.out);
        CHECK(faulted.exit_code == bare.exit_code);
        const Outcome replayed = replay(out, {"--runs", "0", "--calls", "3"});
        CHECK(replayed.exit_code == 3);
        CHECK(contains(replayed.out, "run 0, call 3, triton_poi_fused_sqrt_2: the kernel failed: "));
    }
}

TEST_CASE("Of many runs the one that faulted stays, with what its launches read") {
    const Preloaded watched = recorded(
        9, {{"AOTI_DBG_CAPTURE_ON", "fault"}, {"FAKE_CUDA_FAIL_AT", std::to_string(6 * kLaunches + 4)}}, {});
    CAPTURE(watched.outcome.err);
    CHECK(watched.outcome.exit_code == 95);
    const Lines records = files_with(watched.out(), ".json");
    CHECK(std::find(records.begin(), records.end(), "run0006-call0003.json") != records.end());
    for (const std::string& record : records)
        CHECK(record >= "run0005");
    CHECK(replay(watched.out(), {"--runs", "6", "--calls", "3"}).exit_code == 0);
}

/// A recording that ends in the launch of call 3 of run 6: by this signal, or with _exit if that is 0.
Preloaded ended_by(const std::string& signal, const std::string& sync) {
    return recorded(9,
                    {{"AOTI_DBG_CAPTURE_ON", "fault"},
                     {"AOTI_DBG_SYNC", sync},
                     {"FAKE_CUDA_DIE_AT", std::to_string(6 * kLaunches + 4)},
                     {"FAKE_CUDA_DIE_BY", signal}},
                    {});
}

TEST_CASE("If the program fails or a signal ends it, what the last launch reads is on disk") {
    for (const std::string signal : {"0", "6", "11"}) {
        CAPTURE(signal);
        const Preloaded watched = ended_by(signal, "0");
        CHECK(std::to_string(watched.outcome.signal) == signal);
        CHECK(watched.outcome.exit_code == (signal == "0" ? 7 : -1));
        const Outcome replayed = replay(watched.out(), {"--runs", "6", "--calls", "3"});
        CAPTURE(replayed.err);
        CHECK(replayed.exit_code == 0);
    }
}

TEST_CASE("Of a program that is killed, what is on disk stays") {
    const Preloaded watched = ended_by("9", "1");
    CHECK(watched.outcome.signal == 9);
    CHECK(replay(watched.out(), {"--runs", "6", "--calls", "3"}).exit_code == 0);
}

TEST_CASE("Options that contradict --capture-on are refused") {
    const auto refused = [](const Lines& flags, const Variables& variables = {}) {
        const Outcome outcome =
            run_bare(joined(joined({places::kTool, "run"}, flags), {"--", "true"}), variables);
        CHECK(outcome.exit_code == 125);
        return outcome.err;
    };
    CHECK(contains(refused({"--capture-on", "fault", "--keep", "first"}),
                   "--capture-on fault keeps the last runs"));
    CHECK(contains(refused({"--capture-on", "fault"}, {{"AOTI_DBG_SAVE_ON", "finding"}}),
                   "Leave out --save-on"));
    CHECK(contains(refused({"--capture-on", "finding", "--check", "none"}), "finding needs a check"));
}

}  // namespace
}  // namespace aoti_dbg::test::capture_on_test
