// Bundles of captured launches, which `aoti-dbg replay` runs again from one file on the software driver.
#include <sys/stat.h>

#include <fstream>

#include "tests/preload/cuda_models_fixture.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/places.hpp"

namespace aoti_dbg::test::bundle_test {
namespace {

namespace fs = std::filesystem;

/// A recording with all launches of two runs, and a folder for its bundles.
struct Captured {
    Preloaded watched{cuda_models({"--runs", "2"}, {"stats"}),
                      {{"AOTI_DBG_CAPTURE", "triton_*,add_*"}, {"AOTI_DBG_LEVEL", ""}}};
    TempFolder folder;
    std::string bundle = (folder.path() / "one.aotidbg").string();

    [[nodiscard]] fs::path out() const { return watched.out(); }
};

Outcome tool(const std::string& command, Lines options) {
    options.insert(options.begin(), {places::kTool, command});
    return run_program(options, {{"LD_LIBRARY_PATH", places::kFakes}});
}

Outcome bundled(const Captured& captured, Lines options = {}) {
    options.insert(options.end(), {"--output", captured.bundle, captured.out().string()});
    return tool("bundle", options);
}

/// Replaces one byte of the bundle that follows `text`.
void damage(const std::string& path, const std::string& text) {
    std::string bundle = read_text(path);
    const std::size_t at = bundle.find(text);
    REQUIRE(at != std::string::npos);
    bundle[at + text.size()] ^= 1;
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bundle;
}

TEST_CASE("A bundle replays like its recording, also elsewhere and unpacked") {
    const Captured captured;
    const Outcome written = bundled(captured);
    CAPTURE(written.err);
    REQUIRE(written.exit_code == 0);
    CHECK(written.out.rfind(captured.bundle + ": ", 0) == 0);
    CHECK(contains(written.out,
                   "The code of 5 modules, the Triton source of 5 kernels, and the contents of 24 tensors "
                   "before and 24 after 10 launches ("));
    CHECK(contains(written.out, "), which are user data.\n"));
    const Outcome original = tool("replay", {captured.out().string()});
    REQUIRE(lines_of(original.out).size() == 10);
    struct stat info {};
    REQUIRE(stat(captured.bundle.c_str(), &info) == 0);
    CHECK((info.st_mode & 0777) == 0600);

    // Without the recording.
    fs::remove_all(captured.out() / "launches");
    fs::remove_all(captured.out() / "tensors");
    const TempFolder elsewhere;
    const std::string moved = (elsewhere.path() / "moved.aotidbg").string();
    fs::rename(captured.bundle, moved);
    const Outcome replayed = tool("replay", {moved});
    CHECK(replayed.exit_code == 0);
    CHECK(replayed.out == original.out);
    CHECK(replayed.err.empty());
    CHECK(tool("replay", {"--runs", "1", "--calls", "3", moved}).out ==
          "run 1, call 3, triton_poi_fused_sqrt_2: equal to the record\n");

    const std::string unpacked = (elsewhere.path() / "unpacked").string();
    REQUIRE(run_program({"python3", "-m", "zipfile", "-e", moved, unpacked}, {}).exit_code == 0);
    CHECK(tool("replay", {unpacked}).out == original.out);
}

TEST_CASE("A bundle has only what its launches need") {
    const Captured captured;
    REQUIRE(bundled(captured, {"--runs", "1", "--calls", "3"}).exit_code == 0);
    CHECK(lines_of(tool("replay", {captured.bundle}).out) ==
          Lines{"run 1, call 3, triton_poi_fused_sqrt_2: equal to the record"});
    CHECK_FALSE(contains(read_text(captured.bundle), "triton_poi_fused_add_3"));
    const Outcome none = tool("replay", {"--calls", "2", captured.bundle});
    CHECK(none.exit_code == 2);
    CHECK(contains(none.err, "is selected. Change --runs or --calls"));
}

TEST_CASE("A bundle has the Triton source of its kernels, also of a bundle and without their results") {
    const Captured captured;
    const std::string script = (captured.folder.path() / "kernel.py").string();
    const std::string source = (captured.folder.path() / "kernel.kernel.py").string();
    REQUIRE(tool("replay", {"--runs", "0", "--calls", "3", "--python", script, captured.out()}).exit_code ==
            0);
    const std::string recorded = read_text(source);
    REQUIRE(contains(recorded, "\ndef triton_poi_fused_sqrt_2("));
    const std::string again = captured.bundle + ".again";
    REQUIRE(bundled(captured).exit_code == 0);
    REQUIRE(tool("bundle", {"--redact", "--output", again, captured.bundle}).exit_code == 0);
    fs::remove_all(captured.out() / "evidence");
    for (const std::string& place : {captured.bundle, again}) {
        fs::remove(script);
        fs::remove(source);
        const Outcome written = tool("replay", {"--runs", "1", "--calls", "3", "--python", script, place});
        CAPTURE(place, written.err);
        REQUIRE(written.exit_code == 0);
        CHECK(read_text(source) == recorded);
        const std::string text = read_text(script);
        CHECK(contains(text, "\nModel: cstats.wrapper.so, torch "));
        CHECK(contains(text, " else \"" + fs::canonical(place).string() + "\")\n"));
        CHECK(contains(text, "\nbuf4 = load(\"tensors/run"));
        CHECK(contains(text, "    check(\"buf4\", buf4, \"tensors/run0001/") == (place == captured.bundle));
    }
}

TEST_CASE("A bundle of a recording without evidence has no source") {
    const Captured captured;
    fs::remove_all(captured.out() / "evidence");
    const Outcome written = bundled(captured, {"--runs", "0", "--calls", "3"});
    CHECK(contains(written.out, "The code of 1 module, and the contents of 2 tensors"));
    const std::string script = (captured.folder.path() / "kernel.py").string();
    const Outcome refused = tool("replay", {"--python", script, captured.bundle});
    CHECK(refused.exit_code == 2);
    CHECK(contains(refused.err, "the recording has no Triton source of triton_poi_fused_sqrt_2"));
    CHECK_FALSE(fs::exists(script));
}

TEST_CASE("A redacted bundle replays without results, and stays redacted") {
    const Captured captured;
    REQUIRE(bundled(captured, {"--redact"}).exit_code == 0);
    const Outcome replayed = tool("replay", {"--calls", "3", "--runs", "0", captured.bundle});
    CAPTURE(replayed.err);
    CHECK(replayed.exit_code == 0);
    CHECK(replayed.out ==
          "run 0, call 3, triton_poi_fused_sqrt_2: ran, and has no recorded results\n"
          "  arg2_1 float32[8,16]: its recorded result is not saved\n"
          "  buf4 float32[8,16]: its recorded result is not saved\n");
    const std::string again = captured.bundle + ".again";
    const Outcome written = tool("bundle", {"--output", again, captured.bundle});
    CHECK(contains(written.out,
                   ", the Triton source of 5 kernels, and random contents in place of 24 tensors before 10 "
                   "launches"));
    CHECK(contains(read_text(again), R"("redacted":true)"));
}

TEST_CASE("A launch is inspected without a GPU") {
    const Captured captured;
    REQUIRE(bundled(captured, {"--runs", "0", "--calls", "3"}).exit_code == 0);
    // Without the software driver.
    const Outcome inspected = run_program({places::kTool, "replay", "--inspect", captured.bundle}, {});
    CHECK(inspected.exit_code == 0);
    const Lines lines = lines_of(inspected.out);
    REQUIRE(lines.size() == 16);
    CHECK(lines[0].rfind("The code of 1 module, the Triton source of 1 kernel, and the contents of 2 tensors "
                         "before and 2 after 1 launch (",
                         0) == 0);
    CHECK(lines[1] == "run 0, call 3, triton_poi_fused_sqrt_2");
    CHECK(lines[2] == "  function   triton_poi_fused_sqrt_2");
    CHECK(lines[3] == "  shape      grid [1, 1, 1], block [128, 1, 1], shared memory 0 bytes");
    CHECK(lines[4] == "  device     Software device, compute capability 9.0, driver 13.0");
    CHECK(lines[5].rfind("  code       launches/", 0) == 0);
    CHECK(lines[6] == "  parameter  offset 0, 8 bytes: arg2_1 float32[8,16] with strides [16,1]");
    CHECK(lines[8] == "  parameter  offset 16, 4 bytes: 80000000");
    CHECK(lines[11] == "  before     arg2_1 float32[8,16] with strides [16,1]: 2089 bytes");
    CHECK(lines[14] == "  after      buf4 float32[8,16] with strides [16,1]: 2089 bytes");
    CHECK(lines[15].rfind("  total      ", 0) == 0);
    const Outcome folder = tool("replay", {"--inspect", captured.out().string()});
    CHECK(folder.exit_code == 0);
    CHECK(lines_of(folder.out).at(0) == "run 0, call 1, triton_poi_fused_relu_0");
    const fs::path record = captured.out() / "launches" / "run0000-call0001.json";
    std::string text = read_text(record);
    text.replace(text.find("triton_poi"), 0, "\\u001b[2J");
    text.replace(text.find(R"("function":")") + 12, 0, "\\u001b[2J");
    std::ofstream(record, std::ios::trunc) << text;
    const Outcome harmless = tool("replay", {"--inspect", captured.out().string()});
    CHECK(lines_of(harmless.out).at(0) == "run 0, call 1, ?[2Jtriton_poi_fused_relu_0");
    CHECK(lines_of(harmless.out).at(1) == "  function   ?[2Jtriton_poi_fused_relu_0");
    std::ofstream(captured.out() / "foreign.json") << "{}";
    fs::rename(captured.out() / "foreign.json", captured.out() / "manifest.json");
    CHECK(tool("replay", {"--inspect", captured.out().string()}).out == harmless.out);
    fs::remove(captured.out() / "manifest.json");
}

TEST_CASE("What cannot be bundled or read is refused with its reason") {
    const Captured captured;
    const auto refused = [](const Outcome& outcome, int exit_code, const std::string& reason) {
        CAPTURE(outcome.out, outcome.err);
        CHECK(outcome.exit_code == exit_code);
        CHECK(contains(outcome.err, reason));
    };
    refused(tool("bundle", {captured.out().string()}), 2, "--output is missing");
    refused(tool("bundle", {"--output", captured.bundle, captured.out() / "none"}), 1, "cannot read ");
    refused(bundled(captured, {"--runs", "9"}), 1, "is selected. Change --runs or --calls");
    refused(bundled(captured, {"--runs", "x"}), 2,
            R"(--runs: expected a number or a Python slice (begin:end:step), got "x".)");
    refused(
        tool("bundle", {"--output", captured.folder.path() / "none" / "x", captured.out()}), 1,
        "x.part: no such file or directory. Set --output to a file in an existing, writable directory.\n");
    REQUIRE(bundled(captured).exit_code == 0);
    refused(bundled(captured), 1, ": it exists. Name another file with --output.");

    damage(captured.bundle, "\"function\":\"triton_poi_fused_");
    refused(tool("replay", {captured.bundle}), 2, "its member launches/run0000-call0001.json is damaged");
    fs::remove(captured.bundle);
    REQUIRE(bundled(captured).exit_code == 0);
    // The first match is the pickle of a tensor before the first launch.
    damage(captured.bundle, "_rebuild_tensor_v");
    refused(tool("replay", {captured.bundle}), 2, " is damaged. Copy or create the bundle again.");
    fs::resize_file(captured.bundle, fs::file_size(captured.bundle) / 2);
    refused(tool("replay", {captured.bundle}), 2, "a damaged zip archive: its end record is missing");

    fs::remove_all(captured.out() / "tensors" / "run0000" / "call0002");
    const Lines options = {"--calls", "2", "--runs", "0", "--output", captured.bundle + ".2", captured.out()};
    refused(tool("bundle", options), 1, "1 launch has no saved inputs");
    CHECK_FALSE(fs::exists(captured.bundle + ".2"));
    CHECK_FALSE(fs::exists(captured.bundle + ".2.part"));
    const Outcome others = tool("bundle", {"--output", captured.bundle + ".3", captured.out()});
    CHECK(others.exit_code == 0);
    CHECK(contains(others.err, "1 launch has no saved inputs"));
    CHECK(tool("replay", {captured.bundle + ".3"}).exit_code == 0);
}

}  // namespace
}  // namespace aoti_dbg::test::bundle_test
