// Reports of a fault on a device: what the verdict, the page and the file say, and that they omit unknown
// facts.
#include <csignal>
#include <nlohmann/json.hpp>

#include "tests/support/catch.hpp"
#include "tests/support/unwrapped.hpp"
#include "tests/unit/crash_report_fixture.hpp"

namespace aoti_dbg::test::crash_report_device_test {
namespace {

/// A fault with every fact known.
Evidence fault_on_device() {
    Evidence evidence = ended_by(0);
    evidence.end.exit_status = 1;
    evidence.uses_cuda = true;
    DeviceFault& fault = evidence.device.emplace();
    fault.kernel = "triton_poi_fused_index_3";
    fault.error = 700;
    fault.device = "cuda:0";
    fault.grid = "[40, 1, 1]";
    fault.block_size = "[128, 1, 1]";
    fault.block = "[9, 0, 0]";
    fault.thread = "[32, 0, 0]";
    fault.file = "/tmp/c3/c3abc.py";
    fault.line = 14;
    fault.source = "tl.store(out_ptr0 + (x0), tmp0, xmask)";
    fault.launch = 812;
    evidence.faulted = call_of("triton_poi_fused_index_3", 7, 41);
    evidence.arguments = {{"arg0_1", "in_ptr0 float32 [8]", "the caller (model input)"},
                          {"buf12", "out_ptr0 float32 [8]", "triton_poi_fused_exp_0 (call 3)"}};
    return evidence;
}

bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

nlohmann::json json_of(const Evidence& evidence) {
    const std::string text = kept_json(evidence);
    return nlohmann::json::parse(text);
}

}  // namespace

TEST_CASE("A call that may be another of its name is marked as likely, everywhere") {
    Evidence evidence = fault_on_device();
    CHECK(judge(evidence).headline ==
          "illegal memory access in triton_poi_fused_index_3 (run 7, call 41), at line 14 of its source");
    CHECK_FALSE(json_of(evidence).at("call").contains("likely"));
    evidence.faulted->is_likely = true;
    CHECK(judge(evidence).headline ==
          "illegal memory access in triton_poi_fused_index_3 (likely run 7, call 41), at "
          "line 14 of its source");
    CHECK(contains(text_of(evidence), "(likely run 7, call 41), launch 12"));
    CHECK(json_of(evidence).at("call").at("likely") == true);
    // Without run and number there is no other call to confuse it with.
    evidence.faulted->run = ring::kNoRun;
    evidence.faulted->call = ring::kNoCall;
    CHECK(call_text(*evidence.faulted) == "triton_poi_fused_index_3");
}

TEST_CASE("The argument that the faulting line names is a suspect, and nothing more is claimed") {
    Evidence evidence = fault_on_device();
    evidence.arguments[1].parameter = evidence.device->parameter = "out_ptr0";
    evidence.device->is_write = true;
    CHECK(contains(text_of(evidence), "buf12: out_ptr0 float32 [8]  <- likely this one"));
    CHECK(contains(text_of(evidence),
                   "  written by     arg0_1: the caller (model input)\n"
                   "                 buf12: triton_poi_fused_exp_0 (call 3)\n"));
    const nlohmann::json json = json_of(evidence);
    CHECK(json.at("arguments").at(1).at("suspect") == true);
    CHECK(json.at("arguments").at(1).at("written_by") == "triton_poi_fused_exp_0 (call 3)");
    CHECK_FALSE(json.at("arguments").at(0).contains("suspect"));
    CHECK(json.at("device").at("parameter") == "out_ptr0");
    CHECK(json.at("device").at("access") == "write");
    evidence.device->is_write = false;
    CHECK(contains(judge(evidence).headline, ": likely a read from buf12, at line 14"));
    CHECK(json_of(evidence).at("device").at("access") == "read");
    // The suspected argument does not change the identity of the bug.
    CHECK(judge(evidence).fingerprint == judge(fault_on_device()).fingerprint);
}

TEST_CASE("The culprit is the call, its kernel's line and the argument, with how certain the argument is") {
    Evidence evidence = fault_on_device();
    evidence.arguments[1].parameter = evidence.device->parameter = "out_ptr0";
    Culprit culprit = judge(evidence).culprit;
    REQUIRE(culprit.call);
    CHECK(culprit.call->call == 41);
    CHECK(culprit.kernel == "triton_poi_fused_index_3");
    CHECK(culprit.line == 14);
    CHECK(culprit.arguments == std::vector<std::size_t>{1});
    CHECK_FALSE(culprit.is_argument_certain);
    // An address beside the argument makes it certain, but not if only the map of tensors has its range.
    evidence.arguments[1].begin = 0x7f0000000000;
    evidence.arguments[1].bytes = 32;
    evidence.device->accessed = {"write", 4, "", {{"[32, 0, 0]", 0x7f0000000020}}, true, ""};
    CHECK(judge(evidence).culprit.is_argument_certain);
    evidence.arguments[1].is_from_tensor_map = true;
    CHECK_FALSE(judge(evidence).culprit.is_argument_certain);
}

TEST_CASE("An argument's known dtype, sizes and address are reported once") {
    Evidence evidence = fault_on_device();
    CrashArgument tensor;
    tensor.label = "buf12";
    tensor.what = tensor.parameter = "out_ptr0";
    tensor.dtype = "float32";
    tensor.has_sizes = true;
    tensor.sizes = {"s58", "16"};
    CrashArgument placed = tensor;
    placed.begin = 0x7f3a00000000;
    placed.bytes = 512;
    placed.is_expected = true;
    CrashArgument scalar;
    scalar.label = "64L*s58";
    scalar.what = "xnumel = 64L*s58";
    scalar.value = "3072";
    CrashArgument plain = scalar;
    plain.label = "128L";
    plain.what = "xnumel = 128L";
    plain.value = "128";
    evidence.arguments = {tensor, placed, scalar, plain};
    CHECK(contains(text_of(evidence), "buf12: out_ptr0, float32 [s58, 16]\n"));
    CHECK(contains(text_of(evidence),
                   "buf12: out_ptr0, expected float32 [s58, 16], 512 bytes at 0x7f3a00000000\n"));
    CHECK(contains(text_of(evidence), "64L*s58: xnumel = 64L*s58 = 3072\n"));
    CHECK(contains(text_of(evidence), "128L: xnumel = 128L\n"));
    const nlohmann::json arguments = json_of(evidence).at("arguments");
    CHECK(arguments.at(0).at("sizes") == nlohmann::json({"s58", 16}));
    CHECK_FALSE(arguments.at(0).contains("begin"));
    CHECK_FALSE(arguments.at(0).contains("expected"));
    CHECK(arguments.at(1).at("begin") == "0x7f3a00000000");
    CHECK(arguments.at(1).at("expected") == true);
    CHECK(arguments.at(3).at("value") == "128");
    CHECK_FALSE(arguments.at(3).contains("sizes"));

    // The measured text already has dtype and sizes. The others are a tensor without dimensions and one
    // without a dtype.
    tensor.what = "float32 [8, 16], min -1, max 2, mean 0.5";
    tensor.begin = 0x1000;
    placed = CrashArgument();
    placed.label = "buf13";
    placed.has_sizes = true;
    evidence.arguments = {tensor, placed};
    CHECK(contains(text_of(evidence), "buf12: float32 [8, 16], min -1, max 2, mean 0.5, at 0x1000\n"));
    CHECK(contains(text_of(evidence), "buf13: []\n"));
    CHECK(json_of(evidence).at("arguments").at(1).at("sizes") == nlohmann::json::array());
}

TEST_CASE("A package's name and path are complete, however long they are") {
    Evidence evidence = fault_on_device();
    evidence.faulted->package = "model-5b1f60a3c2d4";
    evidence.faulted->path = "/tmp/a/model.wrapper.so";
    CHECK(contains(text_of(evidence), "  package        model-5b1f60a3c2d4, /tmp/a/model.wrapper.so\n"));
    evidence.faulted->package = std::string(152, 'c') + "-5b1f60a3c2d4";
    CHECK(contains(text_of(evidence), "  package        " + evidence.faulted->package +
                                          ",\n                 /tmp/a/model.wrapper.so\n"));
    CHECK(json_of(evidence).at("call").at("path") == "/tmp/a/model.wrapper.so");
}

TEST_CASE("A parameter without a known argument appears in the file only") {
    Evidence evidence = fault_on_device();
    evidence.device->parameter = "out_ptr0";
    CHECK_FALSE(contains(judge(evidence).headline, "likely"));
    CHECK_FALSE(contains(text_of(evidence), "likely"));
    CHECK(json_of(evidence).at("device").at("parameter") == "out_ptr0");
}

TEST_CASE("A kernel that stopped itself is reported as a trap") {
    Evidence evidence = fault_on_device();
    evidence.device->is_trap = true;
    evidence.device->error = 719;
    CHECK(judge(evidence).kind == CrashClass::kernel);
    CHECK(judge(evidence).headline ==
          "trap (the kernel stopped itself) in triton_poi_fused_index_3 (run 7, call 41), "
          "at line 14 of its source");
    CHECK(judge(evidence).fingerprint != judge(fault_on_device()).fingerprint);
}

TEST_CASE("A source other than the kernel's own Python is reported by its name") {
    Evidence evidence = fault_on_device();
    evidence.device->file = "/src/kernels/gather.cu";
    CHECK(contains(judge(evidence).headline, ", at line 14 of gather.cu"));
    evidence.device->file = "gather.cu";
    CHECK(contains(judge(evidence).headline, ", at line 14 of gather.cu"));
    evidence.device->file.clear();
    CHECK(contains(judge(evidence).headline, ", at line 14 of its source"));
    evidence.device->file = "/src/kernels/";
    CHECK(contains(judge(evidence).headline, ", at line 14 of its source"));
    evidence.device->line = 0;
    CHECK_FALSE(contains(judge(evidence).headline, "line"));
}

TEST_CASE("For a fault the page shows the known facts and omits the missing ones") {
    Evidence evidence = fault_on_device();
    CHECK(contains(text_of(evidence),
                   "block [9, 0, 0], thread [32, 0, 0] of grid [40, 1, 1] x [128, 1, 1] on cuda:0\n"));
    CHECK(contains(text_of(evidence), "line 14: tl.store(out_ptr0 + (x0), tmp0, xmask)"));
    CHECK(json_of(evidence).at("device").at("launch") == 812);
    evidence.device->thread.clear();
    evidence.device->address = "0x7f4900001000";
    CHECK(contains(unwrapped(text_of(evidence)),
                   "block [9, 0, 0] of grid [40, 1, 1] x [128, 1, 1] on cuda:0 at address "
                   "0x7f4900001000 call "));
    // Its warp had ended.
    DeviceFault& fault = *evidence.device;
    fault.block.clear();
    fault.grid.clear();
    fault.block_size.clear();
    fault.address.clear();
    fault.launch = 0;
    fault.later_launch = 813;
    CHECK(contains(text_of(evidence), "on cuda:0, in a block that has already ended\n"));
    CHECK(json_of(evidence).at("device").at("later_launch") == 813);
    for (const char* missing : {"block", "grid", "thread", "address", "launch", "parameter", "access"})
        CHECK_FALSE(json_of(evidence).at("device").contains(missing));
    // No label may appear without a value.
    fault = DeviceFault{};
    CHECK(contains(judge(evidence).headline, "fault in triton_poi_fused_index_3 (run 7, call 41)"));
    evidence.faulted.reset();
    CHECK(judge(evidence).headline == "fault in an unknown kernel");
    CHECK_FALSE(contains(text_of(evidence), "of grid"));
    CHECK_FALSE(contains(text_of(evidence), "thread ["));
}

namespace {

Evidence failed_by(int signal) {
    Evidence evidence = ended_by(signal);
    evidence.uses_cuda = true;
    evidence.failed = call_of("cuStreamSynchronize", 7, ring::kNoCall);
    evidence.failed->kind = ring::CallKind::wait;
    evidence.failed->result = 700;
    evidence.by_markers = true;
    return evidence;
}

CrashCall triton_call(const std::string& name, std::uint32_t number) {
    CrashCall call = call_of(name, 7, number);
    call.kind = ring::CallKind::triton;
    return call;
}

}  // namespace

TEST_CASE("Without a dump, completion markers take precedence over the call that returned the error") {
    Evidence evidence = failed_by(SIGABRT);
    evidence.faulted = triton_call("triton_poi_fused_index_3", 41);
    CHECK(judge(evidence).kind == CrashClass::kernel);
    CHECK(judge(evidence).headline ==
          "illegal memory access (CUDA error 700) in triton_poi_fused_index_3 (run 7, call 41), according to "
          "completion markers; the process then ended with SIGABRT");
    CHECK(judge(evidence).advice.front().find("--runs 7 --calls 41 ") != std::string::npos);
    evidence.is_captured = true;
    evidence.end.folder = "/tmp/my out";
    CHECK(judge(evidence).advice.front() ==
          "run the launch alone, also under compute-sanitizer: aoti-dbg replay --runs 7 --calls 41 '/tmp/my "
          "out'");
    evidence.is_captured_op = true;
    CHECK(
        judge(evidence).advice.front() ==
        "write a script that runs the op alone: aoti-dbg replay --runs 7 --calls 41 --python op.py '/tmp/my "
        "out'");
    const std::string json = kept_json(evidence);
    CHECK(json.find("\"by_markers\": true") != std::string::npos);
    const std::string fingerprint = judge(evidence).fingerprint;
    evidence.faulted->is_likely = true;
    CHECK(judge(evidence).headline.find(
              "700), likely in triton_poi_fused_index_3 (run 7, call 41), according to completion") !=
          std::string::npos);
    CHECK(judge(evidence).fingerprint == fingerprint);
    // A fault of the host itself takes precedence over markers.
    evidence.end.signal = SIGSEGV;
    CHECK(judge(evidence).kind == CrashClass::host);
    evidence.end.thread = 1;
    CHECK(judge(evidence).kind == CrashClass::host);
}

TEST_CASE("A driver thread that crashes over a fault does not hide it") {
    Evidence evidence = failed_by(SIGSEGV);
    evidence.by_markers = false;
    evidence.end.thread = 1;
    evidence.end.is_foreign_thread = true;
    CHECK(judge(evidence).kind == CrashClass::kernel);
    CHECK(contains(judge(evidence).headline, "illegal memory access (CUDA error 700), returned by "));
    CHECK(contains(judge(evidence).headline, "; the process then ended with SIGSEGV"));
    // The device error does not explain a crash inside a call, nor is it the cause if the device could
    // continue.
    Evidence inside = evidence;
    inside.in_flight = {call_of("mylib::my_op")};
    CHECK(judge(inside).kind == CrashClass::host);
    evidence.failed->result = 1;
    CHECK(judge(evidence).kind == CrashClass::host);
}

TEST_CASE("Several suspects are reported as a set, and are not part of the fingerprint") {
    Evidence evidence = failed_by(0);
    evidence.end.exit_status = 1;
    for (std::uint32_t i = 0; i < 6; ++i)
        evidence.suspects.push_back(triton_call("kernel_" + std::to_string(i), i));
    evidence.suspect_count = evidence.suspects.size();
    CHECK(
        judge(evidence).headline ==
        "illegal memory access (CUDA error 700) in one of 6 unfinished launches, none queued behind another, "
        "according to completion markers: kernel_0 (run 7, call 0), kernel_1 (run 7, call 1), kernel_2 (run "
        "7, call 2), kernel_3 (run 7, call 3) and 2 more; the program then exited with status 1");
    CHECK(evidence.call() == nullptr);
    CHECK(text_of(evidence).find("candidates     kernel_0 (run 7, call 0)\n") != std::string::npos);
    const std::string json = kept_json(evidence);
    CHECK(json.find("\"suspects\"") != std::string::npos);
    const std::string line = verdict_line({evidence, judge(evidence)}, "");
    CHECK(line.find("\"kernel\":") == std::string::npos);
    const std::string fingerprint = judge(evidence).fingerprint;
    evidence.suspects.pop_back();
    CHECK(judge(evidence).fingerprint == fingerprint);
}

}  // namespace aoti_dbg::test::crash_report_device_test
