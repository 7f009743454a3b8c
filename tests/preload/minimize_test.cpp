// `aoti-dbg replay --minimize` of captured launches, on the software driver.
#include <fstream>
#include <memory>

#include "tests/preload/cuda_models_fixture.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/places.hpp"

namespace aoti_dbg::test::minimize_test {
namespace {

namespace fs = std::filesystem;

const std::string kSqrt = "run 0, call 3, triton_poi_fused_sqrt_2: ";

Outcome replay(Lines options) {
    options.insert(options.begin(), {places::kTool, "replay"});
    return run_program(options, {{"LD_LIBRARY_PATH", places::kFakes}});
}

/// A recording of one run, whose square root had a grid of [9, 4, 1].
struct Captured {
    /// `more` members are in the record of the square root.
    explicit Captured(const std::string& more = {}) {
        for (const fs::path& file : Preloaded::files(out() / "launches", "run")) {
            std::string record = read_text(file);
            const std::string grid = R"("grid":[1,1,1])";
            const std::size_t at = record.find(grid);
            if (at == std::string::npos || !contains(record, "sqrt")) continue;
            std::ofstream(file) << record.replace(at, grid.size(), R"("grid":[9,4,1])" + more);
        }
    }
    [[nodiscard]] fs::path out() const { return watched.out(); }

    /// Replays the square root as another kernel.
    [[nodiscard]] Outcome minimized(const std::string& kernel, Lines options) const {
        const fs::path code = folder.path() / (kernel + ".cubin");
        std::ofstream(code) << "AOTI_DBG_FAKE_MODULE\nkernel triton_poi_fused_sqrt_2 " << kernel
                            << " ppipp\n";
        options.insert(options.end(),
                       {"--calls", "3", "--replace", code.string(), "--minimize", small, out().string()});
        return replay(options);
    }

    Preloaded watched{cuda_models({"--runs", "1"}, {"stats"}),
                      {{"AOTI_DBG_CAPTURE", "triton_*,add_*"}, {"AOTI_DBG_LEVEL", ""}}};
    TempFolder folder;
    std::string small = (folder.path() / "small.aotidbg").string();
};

TEST_CASE("A launch that faults keeps the blocks and the row that fault") {
    const Captured captured;
    const Outcome minimized = captured.minimized("faulting_row", {});
    CAPTURE(minimized.out, minimized.err);
    REQUIRE(minimized.exit_code == 0);
    const Lines lines = lines_of(minimized.out);
    REQUIRE(lines.size() == 5);
    CHECK(lines[0].rfind(kSqrt + "the kernel failed: ", 0) == 0);
    CHECK(ends_with(lines[0], ", at /src/kernel.py:40"));
    CHECK(lines[1] == "  grid [9, 4, 1]: [5, 2, 1]");
    CHECK(lines[2] == "  arg2_1 float32[8,16]: row 5 of 8 matters; the others are 0");
    CHECK(lines[3] == "  buf4 float32[8,16]: constant 0");
    CHECK(lines[4].rfind(captured.small + ": ", 0) == 0);
    CHECK(ends_with(lines[4], " for the original launch. Its replay shows the same problem."));

    // The bundle has the code that faults.
    const Outcome replayed = replay({captured.small});
    CHECK(replayed.exit_code == 3);
    CHECK(contains(replayed.out, kSqrt + "the kernel failed: "));
    const Outcome inspected = replay({"--inspect", captured.small});
    CHECK(contains(inspected.out, "grid [5, 2, 1]"));
    CHECK(contains(inspected.out, "  after      buf4 float32[8,16] with strides [16,1]: not saved"));

    const Outcome again = captured.minimized("faulting_row", {});
    CHECK(again.exit_code == 2);
    CHECK(contains(again.err, "cannot create " + captured.small + ": it exists"));
}

TEST_CASE("A launch that faults with guards needs them after it is smaller, too") {
    const auto captured = captured_within_page([] { return std::make_unique<Captured>(); });
    const Outcome minimized = captured->minimized("neighbor_sum", {"--guard"});
    CAPTURE(minimized.out, minimized.err);
    REQUIRE(minimized.exit_code == 0);
    CHECK(lines_of(minimized.out).at(1) == "  grid [9, 4, 1]: [1, 1, 1]");
    CHECK(lines_of(minimized.out).at(2) == "  arg2_1 float32[8,16]: constant 0");
    CHECK(replay({captured->small}).exit_code == 0);
    CHECK(replay({"--guard", captured->small}).exit_code == 3);
}

TEST_CASE("A launch that reads unwritten memory shows so after it is smaller") {
    const Captured captured;
    const Outcome minimized = captured.minimized("accumulate", {"--poison", "ff"});
    CAPTURE(minimized.out, minimized.err);
    REQUIRE(minimized.exit_code == 0);
    const Lines lines = lines_of(minimized.out);
    CHECK(lines.at(0) == kSqrt + "reads uninitialized memory, which shows in buf4");
    CHECK(lines.at(2) == "  arg2_1 float32[8,16]: constant -1");
    const Outcome replayed = replay({"--poison", "ff", captured.small});
    CHECK(replayed.exit_code == 1);
    CHECK(lines_of(replayed.out).at(0) == kSqrt + "reads uninitialized memory");
}

TEST_CASE("A launch that differs each time keeps what it needs for that") {
    const Captured captured;
    const Outcome minimized = captured.minimized("unsteady", {"--times", "3"});
    CAPTURE(minimized.out, minimized.err);
    REQUIRE(minimized.exit_code == 0);
    const Lines lines = lines_of(minimized.out);
    CHECK(lines.at(0) == kSqrt + "not the same each time");
    CHECK(lines.at(1) == "  grid [9, 4, 1]: [3, 1, 1]");
    CHECK(lines.at(2) == "  arg2_1 float32[8,16]: constant 9");
    CHECK(contains(replay({"--times", "2", captured.small}).out, kSqrt + "not the same each time"));
}

TEST_CASE("A launch that makes a NaN keeps the inputs that make it") {
    const Captured captured;
    const Outcome minimized = replay({"--calls", "3", "--minimize", captured.small, captured.out().string()});
    CAPTURE(minimized.out, minimized.err);
    REQUIRE(minimized.exit_code == 0);
    const Lines lines = lines_of(minimized.out);
    CHECK(lines.at(0) == kSqrt + "writes NaN or Inf to buf4");
    CHECK(lines.at(2) == "  arg2_1 float32[8,16]: constant -1");
    CHECK(lines.at(3) == "  buf4 float32[8,16]: constant 0");
    // Without a record, poison compares with a launch without it.
    CHECK(replay({"--poison", "ff", captured.small}).out ==
          kSqrt + "gives the same results, with poisoned memory\n");
    // A bundle can become smaller again.
    const Outcome again = replay({"--minimize", captured.small + ".again", captured.small});
    CAPTURE(again.err);
    CHECK(again.exit_code == 0);
}

TEST_CASE("A smaller launch that never ends does not count") {
    const Captured captured;
    const Outcome minimized = captured.minimized("endless", {});
    CAPTURE(minimized.out, minimized.err);
    CHECK(minimized.exit_code == 0);
    // The minimum is -1.
    CHECK(lines_of(minimized.out).at(2) == "  arg2_1 float32[8,16]: constant 9");
}

TEST_CASE("Clusters stay whole, and a cooperative launch keeps its grid") {
    const Captured clustered(R"(,"cluster":[3,1,1])");
    const Outcome whole = clustered.minimized("faulting_row", {});
    CAPTURE(whole.out, whole.err);
    CHECK(whole.exit_code == 0);
    CHECK(lines_of(whole.out).at(1) == "  grid [9, 4, 1]: [6, 2, 1]");
    const Captured cooperative(R"(,"cooperative":true)");
    const Outcome fixed = cooperative.minimized("faulting_row", {});
    CAPTURE(fixed.out, fixed.err);
    CHECK(fixed.exit_code == 0);
    CHECK(lines_of(fixed.out).at(1) == "  grid [9, 4, 1]: unchanged, because it is cooperative");
}

TEST_CASE("Fewer blocks can be enough once the tensors are smaller") {
    const Captured captured;
    const Outcome minimized = captured.minimized("faulting_index", {});
    CAPTURE(minimized.out, minimized.err);
    CHECK(minimized.exit_code == 0);
    const Lines lines = lines_of(minimized.out);
    CHECK(lines.at(1) == "  grid [9, 4, 1]: [4, 1, 1]");
    CHECK(lines.at(2) == "  arg2_1 float32[8,16]: constant 9");
    CHECK(lines.at(4) == "  grid [4, 1, 1]: [1, 1, 1] with these tensors");
}

TEST_CASE("A redacted launch stays redacted when it becomes smaller") {
    const Captured captured;
    const std::string redacted = captured.small + ".redacted";
    REQUIRE(run_program({places::kTool, "bundle", "--redact", "--calls", "3", "--output", redacted,
                         captured.out().string()},
                        {})
                .exit_code == 0);
    const Outcome minimized = replay({"--minimize", captured.small, redacted});
    CAPTURE(minimized.out, minimized.err);
    CHECK(minimized.exit_code == 0);
    CHECK(contains(read_text(captured.small), R"("redacted":true)"));
    CHECK(lines_of(replay({"--inspect", captured.small}).out).at(0) ==
          "The code of 1 module, and tensors of 1 launch with random contents or constants.");
}

TEST_CASE("Minimizing refuses a launch without a verdict") {
    const Captured captured;
    const auto refused = [&](const Outcome& minimized, const std::string& reason) {
        CAPTURE(minimized.out, minimized.err);
        CHECK(minimized.exit_code == 2);
        CHECK(contains(minimized.err, reason));
        CHECK_FALSE(fs::exists(captured.small));
    };
    const auto options = [&](Lines more) {
        more.insert(more.end(), {"--minimize", captured.small, captured.out().string()});
        return replay(more);
    };
    refused(captured.minimized("nop", {}), kSqrt.substr(0, kSqrt.size() - 2) + " differs from the record");
    refused(options({"--calls", "1"}), " has no verdict to keep");
    refused(options({}), "--minimize takes one call, and 5 are selected");
    refused(replay({"--calls", "3", "--minimize", captured.small + "/none", captured.out().string()}),
            "cannot create " + captured.small + "/none: no such file or directory");
    refused(options({"--calls", "3", "--bench"}), "--minimize cannot be combined with");
}

}  // namespace
}  // namespace aoti_dbg::test::minimize_test
