// Programs that run CUDA models in several threads, on every kind of stream, beside captures and through
// faults. They must not notice the library at any level, and the library must see each call. stats_cuda_test
// covers the level-2 output.
#include "tests/preload/cuda_models_fixture.hpp"
#include "tests/support/catch.hpp"

namespace aoti_dbg::test::cuda_models_test {
namespace {

const std::vector<Lines> kPrograms = {
    cuda_models({"--runs", "4"}, {"stats"}),
    cuda_models({"--runs", "4", "--streams", "nonblocking", "--weights"}, {"stats"}),
    cuda_models({"--runs", "4", "--streams", "per_thread", "--context"}, {"stats", "stats_other"}),
    cuda_models({"--runs", "4", "--streams", "blocking"}, {"stats_bare"}),
    cuda_models({"--threads", "4", "--runs", "20", "--streams", "legacy,nonblocking,blocking,per_thread"},
                {"stats", "stats_other"}),
    cuda_models({"--threads", "2", "--runs", "20", "--streams", "nonblocking"}, {"stats"}),
    cuda_models({"--threads", "3", "--capture", "--streams", "nonblocking,legacy,nonblocking"},
                {"stats", "stats_other"}),
};

/// Bare and under the library. None of the library's kernels may fault on the device either.
void check_unnoticed(const Lines& argv, Variables env) {
    env["FAKE_CUDA_EXPLAIN"] = "1";
    const Outcome bare = run_bare(argv, env);
    for (const char* level : {"0", "1", "2", "3"}) {
        env["AOTI_DBG_LEVEL"] = level;
        const Preloaded run(argv, env);
        CAPTURE(argv, env, run.outcome.err);
        CHECK(run.outcome.out == bare.out);
        CHECK(run.outcome.exit_code == bare.exit_code);
        CHECK(run.outcome.signal == bare.signal);
        CHECK_FALSE(contains(run.outcome.err, "fake_cuda:"));
    }
}

Lines launches_of(const Preloaded& run) {
    Lines launches;
    for (const std::string& line : run.log_lines()) {
        if (line.rfind("[ ", 0) == 0) launches.push_back(line);
    }
    return launches;
}

TEST_CASE("A program with CUDA models computes and ends the same at any level") {
    for (const Lines& argv : kPrograms) {
        CAPTURE(argv);
        REQUIRE(run_bare(argv).exit_code == 0);
        check_unnoticed(argv, {});
    }
}

TEST_CASE("A program with CUDA models runs the same on a slow device and on one that works synchronously") {
    for (const Lines& argv : {kPrograms[1], kPrograms[4], kPrograms[6]}) {
        check_unnoticed(argv, {{"FAKE_CUDA_DELAY_US", "300"}});
        check_unnoticed(argv, {{"FAKE_CUDA_INLINE", "1"}});
    }
}

TEST_CASE("A program with CUDA models runs the same when one of its own kernels faults") {
    for (const char* launch : {"1", "3", "9"}) {
        const Variables fault = {{"FAKE_CUDA_FAIL_AT", launch}};
        REQUIRE(contains(run_bare(kPrograms[1], fault).out, "the device faulted"));
        check_unnoticed(kPrograms[1], fault);
    }
}

TEST_CASE("A program with CUDA models runs the same when the driver refuses our kernels or our code") {
    for (const Lines& argv : {kPrograms[0], kPrograms[4]}) {
        check_unnoticed(argv, {{"FAKE_CUDA_REFUSE", "aoti_dbg_stats"}});
        check_unnoticed(argv, {{"FAKE_CUDA_REFUSE", "aoti_dbg_save"}});
        check_unnoticed(argv, {{"FAKE_CUDA_NO_FATBIN", "1"}});
    }
}

TEST_CASE("Kernels and ops of a CUDA model have PyTorch's names, in every thread") {
    const Preloaded one(cuda_models({}, {"stats"}));
    CHECK(launches_of(one) == log_of(kCudaRun));
    const Preloaded bare(cuda_models({}, {"stats_bare"}));
    CHECK(launches_of(bare).size() == 2 * kCudaRun.size());
    const Preloaded four(cuda_models({"--threads", "4", "--runs", "5", "--streams", "legacy,nonblocking"},
                                     {"stats", "stats_other"}));
    const Lines all = launches_of(four);
    for (const std::string& kernel : kCudaRun) {
        CAPTURE(kernel);
        CHECK(std::count(all.begin(), all.end(), before(kernel)) == 20);
        CHECK(std::count(all.begin(), all.end(), after(kernel)) == 20);
    }
}

TEST_CASE("A captured run has its calls named, and its graph has only the program's nodes") {
    const Preloaded run(kPrograms[6]);
    CHECK(contains(run.outcome.out, "thread 0: 6 nodes"));
    const Lines all = launches_of(run);
    // Thread 0 runs once before the capture and once in it. The other two threads run once, then five times
    // beside it.
    CHECK(std::count(all.begin(), all.end(), before("triton_poi_fused_relu_0")) == 2 + 2 * 6);
}

}  // namespace
}  // namespace aoti_dbg::test::cuda_models_test
