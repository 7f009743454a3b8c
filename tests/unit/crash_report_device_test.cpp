// Reports of a fault on a device: what the verdict, the page and the file say, and that they omit unknown
// facts.
#include <csignal>
#include <nlohmann/json.hpp>

#include "tests/support/catch.hpp"
#include "tests/support/unwrapped.hpp"
#include "tests/unit/crash_report_fixture.hpp"

using namespace aoti_dbg;
using namespace aoti_dbg::test;

namespace {

/// A fault with every fact known.
CrashReport fault_on_device() {
    CrashReport report = ended_by(0);
    report.end.exit_status = 1;
    report.uses_cuda = true;
    DeviceFault& fault = report.device.emplace();
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
    report.faulted = call_of("triton_poi_fused_index_3", 7, 41);
    report.arguments = {{"arg0_1", "in_ptr0 float32 [8]", "the caller (model input)"},
                        {"buf12", "out_ptr0 float32 [8]", "triton_poi_fused_exp_0 (call 3)"}};
    return report;
}

bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

nlohmann::json json_of(const CrashReport& report) {
    std::string text;
    append_kept_json(report, text);
    return nlohmann::json::parse(text);
}

}  // namespace

TEST_CASE("A call that may be another of its name is marked as likely, everywhere") {
    CrashReport report = concluded(fault_on_device());
    CHECK(report.verdict ==
          "illegal memory access in triton_poi_fused_index_3 (run 7, call 41), at line 14 of its source");
    CHECK_FALSE(json_of(report).at("call").contains("likely"));
    report.faulted->is_likely = true;
    report = concluded(report);
    CHECK(report.verdict ==
          "illegal memory access in triton_poi_fused_index_3 (likely run 7, call 41), at "
          "line 14 of its source");
    CHECK(contains(text_of(report), "(likely run 7, call 41), launch 12"));
    CHECK(json_of(report).at("call").at("likely") == true);
    // Without run and number there is no other call to confuse it with.
    report.faulted->run = ring::kNoRun;
    report.faulted->call = ring::kNoCall;
    CHECK(call_text(*report.faulted) == "triton_poi_fused_index_3");
}

TEST_CASE("The argument that the faulting line names is a suspect, and nothing more is claimed") {
    CrashReport report = fault_on_device();
    report.arguments[1].is_suspect = true;
    report.device->parameter = "out_ptr0";
    report.device->is_write = true;
    report = concluded(report);
    CHECK(contains(text_of(report), "buf12: out_ptr0 float32 [8]  <- likely this one"));
    CHECK(contains(text_of(report),
                   "  written by     arg0_1: the caller (model input)\n"
                   "                 buf12: triton_poi_fused_exp_0 (call 3)\n"));
    const nlohmann::json json = json_of(report);
    CHECK(json.at("arguments").at(1).at("suspect") == true);
    CHECK(json.at("arguments").at(1).at("written_by") == "triton_poi_fused_exp_0 (call 3)");
    CHECK_FALSE(json.at("arguments").at(0).contains("suspect"));
    CHECK(json.at("device").at("parameter") == "out_ptr0");
    CHECK(json.at("device").at("access") == "write");
    report.device->is_write = false;
    report = concluded(report);
    CHECK(contains(report.verdict, ": likely a read from buf12, at line 14"));
    CHECK(json_of(report).at("device").at("access") == "read");
    // The suspected argument does not change the identity of the bug.
    CHECK(report.fingerprint == concluded(fault_on_device()).fingerprint);
}

TEST_CASE("An argument's known dtype, sizes and address are reported once") {
    CrashReport report = fault_on_device();
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
    report.arguments = {tensor, placed, scalar, plain};
    report = concluded(report);
    CHECK(contains(text_of(report), "buf12: out_ptr0, float32 [s58, 16]\n"));
    CHECK(contains(text_of(report),
                   "buf12: out_ptr0, expected float32 [s58, 16], 512 bytes at 0x7f3a00000000\n"));
    CHECK(contains(text_of(report), "64L*s58: xnumel = 64L*s58 = 3072\n"));
    CHECK(contains(text_of(report), "128L: xnumel = 128L\n"));
    const nlohmann::json arguments = json_of(report).at("arguments");
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
    report.arguments = {tensor, placed};
    CHECK(contains(text_of(report), "buf12: float32 [8, 16], min -1, max 2, mean 0.5, at 0x1000\n"));
    CHECK(contains(text_of(report), "buf13: []\n"));
    CHECK(json_of(report).at("arguments").at(1).at("sizes") == nlohmann::json::array());
}

TEST_CASE("A package's name and path are complete, however long they are") {
    CrashReport report = fault_on_device();
    report.faulted->package = "model-5b1f60a3c2d4";
    report.faulted->path = "/tmp/a/model.wrapper.so";
    CHECK(contains(text_of(concluded(report)),
                   "  package        model-5b1f60a3c2d4, /tmp/a/model.wrapper.so\n"));
    report.faulted->package = std::string(152, 'c') + "-5b1f60a3c2d4";
    CHECK(contains(text_of(concluded(report)), "  package        " + report.faulted->package +
                                                   ",\n                 /tmp/a/model.wrapper.so\n"));
    CHECK(json_of(concluded(report)).at("call").at("path") == "/tmp/a/model.wrapper.so");
}

TEST_CASE("A parameter without a known argument appears in the file only") {
    CrashReport report = fault_on_device();
    report.device->parameter = "out_ptr0";
    report = concluded(report);
    CHECK_FALSE(contains(report.verdict, "likely"));
    CHECK_FALSE(contains(text_of(report), "likely"));
    CHECK(json_of(report).at("device").at("parameter") == "out_ptr0");
}

TEST_CASE("A kernel that stopped itself is reported as a trap") {
    CrashReport report = fault_on_device();
    report.device->is_trap = true;
    report.device->error = 719;
    report = concluded(report);
    CHECK(report.kind == CrashClass::kernel);
    CHECK(report.verdict ==
          "trap (the kernel stopped itself) in triton_poi_fused_index_3 (run 7, call 41), "
          "at line 14 of its source");
    CHECK(report.fingerprint != concluded(fault_on_device()).fingerprint);
}

TEST_CASE("A source other than the kernel's own Python is reported by its name") {
    CrashReport report = fault_on_device();
    report.device->file = "/src/kernels/gather.cu";
    CHECK(contains(concluded(report).verdict, ", at line 14 of gather.cu"));
    report.device->file = "gather.cu";
    CHECK(contains(concluded(report).verdict, ", at line 14 of gather.cu"));
    report.device->file.clear();
    CHECK(contains(concluded(report).verdict, ", at line 14 of its source"));
    report.device->file = "/src/kernels/";
    CHECK(contains(concluded(report).verdict, ", at line 14 of its source"));
    report.device->line = 0;
    CHECK_FALSE(contains(concluded(report).verdict, "line"));
}

TEST_CASE("For a fault the page shows the known facts and omits the missing ones") {
    CrashReport report = concluded(fault_on_device());
    CHECK(contains(text_of(report),
                   "block [9, 0, 0], thread [32, 0, 0] of grid [40, 1, 1] x [128, 1, 1] on cuda:0\n"));
    CHECK(contains(text_of(report), "line 14: tl.store(out_ptr0 + (x0), tmp0, xmask)"));
    CHECK(json_of(report).at("device").at("launch") == 812);
    report.device->thread.clear();
    report.device->address = "0x7f4900001000";
    CHECK(contains(unwrapped(text_of(report)),
                   "block [9, 0, 0] of grid [40, 1, 1] x [128, 1, 1] on cuda:0 at address "
                   "0x7f4900001000 call "));
    // Its warp had ended.
    DeviceFault& fault = *report.device;
    fault.block.clear();
    fault.grid.clear();
    fault.block_size.clear();
    fault.address.clear();
    fault.launch = 0;
    fault.later_launch = 813;
    CHECK(contains(text_of(report), "on cuda:0, in a block that has already ended\n"));
    CHECK(json_of(report).at("device").at("later_launch") == 813);
    for (const char* missing : {"block", "grid", "thread", "address", "launch", "parameter", "access"})
        CHECK_FALSE(json_of(report).at("device").contains(missing));
    // No label may appear without a value.
    fault = DeviceFault{};
    report = concluded(report);
    CHECK(contains(report.verdict, "fault in triton_poi_fused_index_3 (run 7, call 41)"));
    report.faulted.reset();
    CHECK(concluded(report).verdict == "fault in an unknown kernel");
    CHECK_FALSE(contains(text_of(report), "of grid"));
    CHECK_FALSE(contains(text_of(report), "thread ["));
}

namespace {

CrashReport failed_by(int signal) {
    CrashReport report = ended_by(signal);
    report.uses_cuda = true;
    report.failed = call_of("cuStreamSynchronize", 7, ring::kNoCall);
    report.failed->kind = ring::CallKind::wait;
    report.failed->result = 700;
    report.by_markers = true;
    return report;
}

CrashCall triton_call(const std::string& name, std::uint32_t number) {
    CrashCall call = call_of(name, 7, number);
    call.kind = ring::CallKind::triton;
    return call;
}

}  // namespace

TEST_CASE("Without a dump, completion markers take precedence over the call that returned the error") {
    CrashReport report = failed_by(SIGABRT);
    report.faulted = triton_call("triton_poi_fused_index_3", 41);
    conclude(report);
    CHECK(report.kind == CrashClass::kernel);
    CHECK(report.verdict ==
          "illegal memory access (CUDA error 700) in triton_poi_fused_index_3 (run 7, call 41), according to "
          "completion markers; the process then ended with SIGABRT");
    CHECK(report.next.front().find("--runs 7 --calls 41 ") != std::string::npos);
    std::string json;
    append_kept_json(report, json);
    CHECK(json.find("\"by_markers\": true") != std::string::npos);
    const std::string fingerprint = report.fingerprint;
    report.faulted->is_likely = true;
    conclude(report);
    CHECK(report.verdict.find(
              "700), likely in triton_poi_fused_index_3 (run 7, call 41), according to completion") !=
          std::string::npos);
    CHECK(report.fingerprint == fingerprint);
    // A fault of the host itself takes precedence over markers.
    report.end.signal = SIGSEGV;
    CHECK(concluded(report).kind == CrashClass::host);
    report.end.thread = 1;
    CHECK(concluded(report).kind == CrashClass::host);
}

TEST_CASE("A driver thread that crashes over a fault does not hide it") {
    CrashReport report = failed_by(SIGSEGV);
    report.by_markers = false;
    report.end.thread = 1;
    report.end.is_foreign_thread = true;
    conclude(report);
    CHECK(report.kind == CrashClass::kernel);
    CHECK(contains(report.verdict, "illegal memory access (CUDA error 700), returned by "));
    CHECK(contains(report.verdict, "; the process then ended with SIGSEGV"));
    // The device error does not explain a crash inside a call, nor is it the cause if the device could
    // continue.
    CrashReport inside = report;
    inside.in_flight = {call_of("mylib::my_op")};
    CHECK(concluded(inside).kind == CrashClass::host);
    report.failed->result = 1;
    CHECK(concluded(report).kind == CrashClass::host);
}

TEST_CASE("Several suspects are reported as a set, and are not part of the fingerprint") {
    CrashReport report = failed_by(0);
    report.end.exit_status = 1;
    for (std::uint32_t i = 0; i < 6; ++i)
        report.suspects.push_back(triton_call("kernel_" + std::to_string(i), i));
    report.suspect_count = report.suspects.size();
    conclude(report);
    CHECK(
        report.verdict ==
        "illegal memory access (CUDA error 700) in one of 6 unfinished launches, none queued behind another, "
        "according to completion markers: kernel_0 (run 7, call 0), kernel_1 (run 7, call 1), kernel_2 (run "
        "7, call 2), kernel_3 (run 7, call 3) and 2 more; the program then exited with status 1");
    CHECK(report.call() == nullptr);
    CHECK(text_of(report).find("candidates     kernel_0 (run 7, call 0)\n") != std::string::npos);
    std::string json;
    append_kept_json(report, json);
    CHECK(json.find("\"suspects\"") != std::string::npos);
    std::string line;
    append_verdict_line(report, "", line);
    CHECK(line.find("\"kernel\":") == std::string::npos);
    const std::string fingerprint = report.fingerprint;
    report.suspects.pop_back();
    CHECK(concluded(report).fingerprint == fingerprint);
}
