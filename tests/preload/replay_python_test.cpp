// Scripts that repeat captured calls, written from a recording of the software driver. tests/models runs
// some.
#include <fstream>

#include "tests/preload/cuda_models_fixture.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/places.hpp"

namespace aoti_dbg::test::replay_python_test {
namespace {

namespace fs = std::filesystem;

/// A recording with all calls of one run.
Preloaded captured() {
    return Preloaded(cuda_models({"--runs", "1"}, {"stats"}),
                     {{"AOTI_DBG_CAPTURE", "*"}, {"AOTI_DBG_LEVEL", ""}});
}

Outcome replay(const fs::path& out, Lines options) {
    options.insert(options.begin(), {places::kTool, "replay", out.string()});
    return run_program(options, {{"LD_LIBRARY_PATH", places::kFakes}});
}

TEST_CASE("An op is captured with its arguments, and a replay names it") {
    const Preloaded watched = captured();
    CHECK(contains(watched.outcome.err, "; 6 launches captured; "));
    const std::string record = read_text(watched.out() / "launches" / "run0000-call0000.json");
    CAPTURE(record);
    CHECK(contains(record, R"("version":2,"kind":"op","run":0,"call":0)"));
    CHECK(contains(record, R"("op":"aoti_torch_cuda_addmm_out")"));
    CHECK(contains(record, R"({"parameter":"out","position":0,"role":"writes","label":"buf0"})"));
    CHECK(contains(record, R"({"parameter":"beta","position":4,"role":"reads","value":"1.0"})"));
    CHECK(contains(record, R"("label":"l1_weight","position":3,"address":)"));
    CHECK_FALSE(contains(record, R"("grid")"));

    const Outcome replayed = replay(watched.out(), {});
    CHECK(replayed.exit_code == 0);
    const Lines lines = lines_of(replayed.out);
    REQUIRE(lines.size() == 6);
    CHECK(lines[0] == "run 0, call 0, aoti_torch_cuda_addmm_out: an op; write its script with --python");
    CHECK(lines[1] == "run 0, call 1, triton_poi_fused_relu_0: equal to the record");
    const Outcome op = replay(watched.out(), {"--calls", "0"});
    CHECK(op.exit_code == 2);
    CHECK(lines_of(op.out).size() == 1);
}

TEST_CASE("The inspection of an op prints its name and tensors, and no shape") {
    const Preloaded watched = captured();
    const fs::path record = watched.out() / "launches" / "run0000-call0000.json";
    std::string text = read_text(record);
    text.replace(text.find("aoti_torch_cuda_addmm_out\",\"arguments"), 4, "\\u001b[m");
    std::ofstream(record, std::ios::binary | std::ios::trunc) << text;
    const Lines lines = lines_of(replay(watched.out(), {"--inspect", "--calls", "0"}).out);
    REQUIRE(lines.size() == 11);
    CHECK(lines[0] == "run 0, call 0, aoti_torch_cuda_addmm_out");
    // A terminal must not obey what a record says.
    CHECK(lines[1] == "  op         ?[m_torch_cuda_addmm_out");
    CHECK(lines[2].rfind("  before     buf0 float32[8,16] with strides [16,1]: ", 0) == 0);
    CHECK(lines[10].rfind("  total      ", 0) == 0);
}

TEST_CASE("The script of an op loads its tensors, calls it and checks what it wrote") {
    const Preloaded watched = captured();
    const fs::path script = watched.out() / "op.py";
    const Outcome written = replay(watched.out(), {"--calls", "0", "--python", script.string()});
    CAPTURE(written.err);
    CHECK(written.exit_code == 0);
    CHECK(written.out == script.string() + " repeats run 0, call 0, aoti_torch_cuda_addmm_out\n");
    const std::string text = read_text(script);
    CAPTURE(text);
    CHECK(contains(text,
                   "\nbuf0 = load(\"tensors/run0000/call0000/before_launch_aoti_torch_cuda_addmm_out_buf0_"));
    CHECK(contains(text, "\"out\": buf0, \"self\": l1_bias, \"mat1\": arg2_1, \"mat2\": l1_weight,"));
    CHECK(contains(text, "find_op(\"addmm_out\", arguments)"));
    CHECK(contains(text, "    check(\"buf0\", buf0, \"tensors/run0000/call0000/after_launch_"));
    CHECK_FALSE(contains(text, "check(\"l1_bias\""));
    CHECK(lines_of(text).size() < 65);

    const Outcome again = replay(watched.out(), {"--calls", "0", "--python", script.string()});
    CHECK(again.exit_code == 2);
    CHECK(contains(again.err,
                   "cannot create " + script.string() + ": file exists. Set --python to another file.\n"));
    CHECK(read_text(script) == text);
}

TEST_CASE("The script of a Triton kernel comes with the kernel's source") {
    const Preloaded watched = captured();
    const fs::path script = watched.out() / "relu.py";
    CHECK(replay(watched.out(), {"--calls", "1", "--python", script.string()}).exit_code == 0);
    const std::string kernel = read_text(watched.out() / "relu.kernel.py");
    CAPTURE(kernel);
    CHECK(contains(kernel, "\nimport triton.language as tl\n"));
    CHECK(contains(kernel, "\n@triton.jit\ndef triton_poi_fused_relu_0(in_out_ptr0, in_ptr0, xnumel,"));
    const std::string text = read_text(script);
    CAPTURE(text);
    CHECK(contains(text, "\"relu.kernel.py\""));
    CHECK(contains(text, "\nkernel.run(buf1, l1_bias, 128, stream=stream)\n"));
    CHECK(contains(text, "    check(\"buf1\", buf1, "));
    CHECK_FALSE(contains(text, "find_op"));
    // Neither file is replaced.
    fs::remove(script);
    CHECK(replay(watched.out(), {"--calls", "1", "--python", script.string()}).exit_code == 2);
    CHECK_FALSE(fs::exists(script));
    // A kernel of the author, with a float among its arguments.
    const fs::path own = watched.out() / "own.py";
    CHECK(replay(watched.out(), {"--calls", "5", "--python", own.string()}).exit_code == 0);
    CHECK(contains(read_text(own), "\nkernel.run(buf5, buf6, 0.5, 128, stream=stream)\n"));
    CHECK(contains(read_text(watched.out() / "own.kernel.py"), "\ndef add_kernel(src, dst, scale,"));
}

TEST_CASE("A script that cannot be written is refused with its reason") {
    const Preloaded watched = captured();
    const fs::path out = watched.out();
    const fs::path script = out / "script.py";
    const auto refused = [&](const Lines& selection, const std::string& reason) {
        Lines options = selection;
        options.insert(options.end(), {"--python", script.string()});
        const Outcome outcome = replay(out, options);
        CAPTURE(outcome.err);
        CHECK(outcome.exit_code == 2);
        CHECK(contains(outcome.err, reason));
        CHECK_FALSE(fs::exists(script));
    };
    refused(
        {},
        "6 are selected. Select one with --runs and --calls: run 0, call 0, aoti_torch_cuda_addmm_out; run");
    refused({"--calls", "9"}, "no captured launch in ");
    const fs::path record = out / "launches" / "run0000-call0000.json";
    std::string text = read_text(record);
    const std::string value = R"(,"value":"1.0")";
    REQUIRE(contains(text, value));
    std::ofstream(record, std::ios::trunc) << std::string(text).erase(text.find(value), value.size());
    refused({"--calls", "0"}, "the value of argument beta of aoti_torch_cuda_addmm_out is not recorded");
    std::ofstream(record, std::ios::trunc) << text;
    fs::remove_all(out / "tensors" / "run0000" / "call0000");
    refused({"--calls", "0"}, " before the call are not saved");
    fs::remove_all(out / "evidence");
    refused({"--calls", "1"}, "the recording has no Triton source of triton_poi_fused_relu_0");
}

}  // namespace
}  // namespace aoti_dbg::test::replay_python_test
