// `aoti-dbg run --capture-verify`: what was captured is replayed when the program has ended.
#include <csignal>
#include <fstream>

#include "tests/preload/cuda_models_fixture.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/places.hpp"

namespace aoti_dbg::test::capture_verify_test {
namespace {

namespace fs = std::filesystem;

/// A copy of the model, which can have other kernels, and an output directory.
struct Model {
    TempFolder folder;
    fs::path files = folder.path() / "package" / "data" / "aotinductor" / "model";
    fs::path out = folder.path() / "out";

    Model() {
        fs::copy(fs::path(places::kFakes) / "stats", folder.path() / "package", fs::copy_options::recursive);
    }

    void use_for_sqrt(const std::string& kernel) const {
        std::ofstream(files / "csqrt.cubin")
            << "AOTI_DBG_FAKE_MODULE\nkernel triton_poi_fused_sqrt_2 " << kernel << " ppipp\n";
    }
    [[nodiscard]] std::string victim(const std::string& runs = "1") const {
        return victim_path("cuda_models") + " --runs " + runs + " " + (files / "cstats.wrapper.so").string();
    }
    /// Runs a shell command under the library.
    [[nodiscard]] Outcome run(const std::string& command, const std::string& pattern = "triton_*,add_*",
                              const Variables& variables = {{"LD_LIBRARY_PATH", places::kFakes}}) const {
        return run_bare({places::kTool, "run", "--level", "0", "--capture", pattern, "--capture-verify",
                         "--out", out.string(), "--", "/bin/sh", "-c", command},
                        variables);
    }
};

TEST_CASE("Launches that replay equal get one line") {
    const Model model;
    const Outcome outcome = model.run("exec " + model.victim("2"), "*");
    CAPTURE(outcome.err);
    CHECK(outcome.exit_code == 0);
    CHECK(contains(outcome.err, "info: replay of 10 captured launches: 10 equal, 2 ops skipped\n"));
    CHECK_FALSE(contains(outcome.err, "not replayed"));
    CHECK(outcome.out ==
          run_bare({"/bin/sh", "-c", model.victim("2")}, {{"LD_LIBRARY_PATH", places::kFakes}}).out);
}

TEST_CASE("The launches of all processes are replayed, and the exit code stays") {
    const Model model;
    model.use_for_sqrt("fault");
    const Outcome outcome = model.run(model.victim() + "; " + model.victim() + "; exit 7", "triton_*");
    CAPTURE(outcome.err);
    CHECK(outcome.exit_code == 7);
    CHECK(contains(outcome.err, ": replay of "));
    CHECK(contains(outcome.err, ", 2 failed (run 0, call 3, triton_poi_fused_sqrt_2"));
    CHECK(contains(outcome.err, " in cuda_models-"));
}

TEST_CASE("A signal that ended the program still ends the command") {
    const Model model;
    const Outcome outcome = model.run(model.victim() + "; kill -KILL $$");
    CAPTURE(outcome.err);
    CHECK(outcome.signal == SIGKILL);
    CHECK(contains(outcome.err, "info: replay of 5 captured launches: 5 equal\n"));
}

TEST_CASE("Launches of earlier runs in the same folder do not count") {
    const Model model;
    REQUIRE(contains(model.run(model.victim("3")).err, "replay of 15 captured launches: 15 equal\n"));
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(model.out))
        if (entry.is_regular_file())
            fs::last_write_time(entry.path(), entry.last_write_time() - std::chrono::hours(1));
    const Outcome outcome = model.run(model.victim("1"));
    CAPTURE(outcome.err);
    CHECK(contains(outcome.err, "info: replay of 5 captured launches: 5 equal\n"));
}

TEST_CASE("A launch that gives other results is named") {
    const Model model;
    const Outcome outcome =
        model.run(model.victim() + " && sed -i 's/\"bytes\":\"80000000\"/\"bytes\":\"40000000\"/' " +
                  model.out.string() + "/launches*/run0000-call0003.json; exit 5");
    CAPTURE(outcome.err);
    CHECK(outcome.exit_code == 5);
    CHECK(contains(
        outcome.err,
        "warn: replay of 5 captured launches: 4 equal, 1 different (run 0, call 3, triton_poi_fused_sqrt_2"));
}

TEST_CASE("A launch that cannot be replayed is named with its reason") {
    const Model model;
    const Outcome outcome = model.run(model.victim() + "; cd " + model.out.string() +
                                      "; rm launches*/*.image; rm -r tensors*/run0000/call0002");
    CAPTURE(outcome.err);
    CHECK(outcome.exit_code == 0);
    CHECK(contains(outcome.err, "warn: replay of 5 captured launches: 0 equal, 5 not replayed\n"));
    CHECK(contains(outcome.err, "not replayed: 1 launch has no saved inputs: "));
    CHECK(contains(outcome.err, "not replayed: run 0, call 1, triton_poi_fused_relu_0"));
    CHECK(contains(outcome.err, ".image: "));
}

TEST_CASE("Without a driver or without launches, one line says so") {
    const Model model;
    const Outcome none = model.run("exit 9");
    CHECK(none.exit_code == 9);
    CHECK(contains(
        none.err,
        "no launches were captured, so there is nothing to replay. Select launches with --capture PATTERN."));
    const Outcome outcome = model.run(
        "LD_LIBRARY_PATH=" + std::string(places::kFakes) + " " + model.victim() + "; exit 4", "triton_*", {});
    CAPTURE(outcome.err);
    CHECK(outcome.exit_code == 4);
    CHECK(contains(outcome.err, "warn: cannot replay the captured launches: cannot load libcuda.so.1: "));
    CHECK_FALSE(contains(outcome.err, ": replay of "));
}

}  // namespace
}  // namespace aoti_dbg::test::capture_verify_test
