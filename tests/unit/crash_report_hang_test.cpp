// The report of a hang: its subject, and what takes precedence over it.
#include <algorithm>
#include <csignal>
#include <nlohmann/json.hpp>

#include "tests/support/catch.hpp"
#include "tests/unit/crash_report_fixture.hpp"

namespace aoti_dbg::test {
namespace {

StuckCall stuck_in(const std::string& name, std::uint64_t thread) {
    StuckCall stuck;
    stuck.call.name = name;
    stuck.call.kind = ring::CallKind::wait;
    stuck.call.thread = thread;
    stuck.call.stream = 5;
    stuck.nanoseconds = 12'345'000'000U;
    return stuck;
}

CrashReport hung(int signal) {
    CrashReport report = ended_by(signal);
    Hang& hang = report.hang.emplace();
    hang.calls = {stuck_in("cuStreamSynchronize", 17)};
    hang.unended = {call_of("spin_kernel")};
    hang.unended.front().is_likely = true;
    hang.unended_count = 7;
    report.faulted = hang.unended.front();
    report.uses_cuda = true;
    report.end.is_running = signal == 0;
    return report;
}

TEST_CASE("A hang is reported with the call, the launch and the way it ended") {
    const CrashReport report = concluded(hung(SIGTERM));
    CHECK(report.kind == CrashClass::hang);
    CHECK(
        report.verdict ==
        "hang: cuStreamSynchronize has not returned for 12.3 s; it likely waits for spin_kernel (run 0, "
        "call 3), the oldest of 7 launches not known to have finished; the process then ended with SIGTERM");
    CHECK(report.call()->name == "spin_kernel");
    const std::string text = text_of(report);
    CHECK(text.find("stalled        cuStreamSynchronize on stream 0x5, for 12.3 s, in thread 17\n") !=
          std::string::npos);
    CHECK(text.find("unfinished     spin_kernel (likely run 0, call 3)\n") != std::string::npos);
    CHECK(report.repeat.front() ==
          "CUDA_LAUNCH_BLOCKING=1 aoti-dbg run --triage --hang 30 -- python infer.py");
    std::string json;
    append_kept_json(report, json);
    const nlohmann::json read = nlohmann::json::parse(json);
    CHECK(read.at("class") == "hang");
    CHECK(read.at("hang").at("unended_count") == 7);
    CHECK(read.at("hang").at("calls").at(0).at("nanoseconds") == 12'345'000'000U);
}

TEST_CASE("A launch that does not finish and that no call waits for is reported as such") {
    CrashReport report = hung(SIGTERM);
    report.hang->by_markers = true;
    report.hang->calls = {stuck_in("", 17)};
    report.hang->calls.front().call = report.hang->unended.front();
    report.hang->calls.front().call.is_likely = report.faulted->is_likely = false;
    report.hang->calls.front().nobody_waits = true;
    conclude(report);
    CHECK(report.kind == CrashClass::hang);
    CHECK(report.verdict ==
          "hang: spin_kernel (run 0, call 3) has not finished for 12.3 s, according to completion markers, "
          "and no call waits for it; 6 launches are queued behind it; the process then ended with SIGTERM");
    CHECK(text_of(report).find("unfinished for 12.3 s, launched by thread ") != std::string::npos);
    std::string json;
    append_kept_json(report, json);
    CHECK(nlohmann::json::parse(json).at("hang").at("calls").at(0).at("nobody_waits") == true);
}

TEST_CASE("Facts from completion markers are reported as certain") {
    CrashReport report = hung(SIGTERM);
    report.hang->by_markers = true;
    report.hang->unended.front().is_likely = report.faulted->is_likely = false;
    conclude(report);
    CHECK(report.verdict ==
          "hang: cuStreamSynchronize has not returned for 12.3 s; it waits for spin_kernel (run 0, call 3), "
          "which is unfinished according to completion markers; 6 launches are queued behind it; the process "
          "then ended with SIGTERM");
    CHECK(text_of(report).find("likely") == std::string::npos);
    for (const auto& [count, words] : {std::pair{1, "markers; the process then"},
                                       {2, "; 1 launch is queued behind it; the process then"}}) {
        report.hang->unended_count = static_cast<std::uint64_t>(count);
        CHECK(concluded(report).verdict.find(words) != std::string::npos);
    }
}

/// A hang with the driver's record of the running kernel.
CrashReport recorded() {
    CrashReport report = hung(SIGABRT);
    report.hang->is_recorded = true;
    report.faulted->is_likely = false;
    DeviceFault& device = report.device.emplace();
    device.is_running = true;
    device.kernel = "spin_kernel";
    device.device = "cuda:0";
    device.grid = "[8, 1, 1]";
    device.block_size = "[256, 1, 1]";
    device.block = "[2, 0, 0]";
    device.thread = "[5, 0, 0]";
    device.file = "/tmp/c3/c3abc.py";
    device.line = 22;
    device.source = "while flag >= 0:";
    device.warps = 64;
    device.blocks = 8;
    device.warps_there = 60;
    return report;
}

TEST_CASE("A kernel in the driver's record is reported with its line, and not as a fault") {
    const CrashReport report = concluded(recorded());
    CHECK(report.kind == CrashClass::hang);
    CHECK(report.verdict ==
          "hang: cuStreamSynchronize has not returned for 12.3 s; spin_kernel (run 0, call 3) is running on "
          "the device, at line 22 of its source; the process then ended with SIGABRT");
    const std::string text = text_of(report);
    CHECK(text.find("running        block [2, 0, 0], thread [5, 0, 0] of grid [8, 1, 1] x [256, 1, 1] on") !=
          std::string::npos);
    CHECK(text.find("on cuda:0; 60 of\n                 64 warps at this line") != std::string::npos);
    CHECK(text.find("source         line 22: while flag >= 0:") != std::string::npos);
    CHECK(text.find("fault ") == std::string::npos);
    std::string json;
    append_kept_json(report, json);
    const nlohmann::json read = nlohmann::json::parse(json);
    CHECK(read.at("hang").at("recorded") == true);
    CHECK(read.at("device").at("running") == true);
    CHECK(read.at("device").at("warps_there") == 60);
    // The driver was already asked, so the advice does not repeat it.
    CHECK(json.find("--on-hang raise") == std::string::npos);
    CrashReport unnamed = recorded();
    unnamed.faulted.reset();
    unnamed.device->kernel.clear();
    unnamed.device->line = 0;
    CHECK(
        concluded(unnamed).verdict ==
        "hang: cuStreamSynchronize has not returned for 12.3 s; an unknown kernel is running on the device; "
        "the process then ended with SIGABRT");
}

TEST_CASE("The fingerprint of a recorded kernel depends on its name and line") {
    const std::string fingerprint = concluded(recorded()).fingerprint;
    CrashReport other = recorded();
    other.device->block = "[3, 0, 0]";
    other.device->warps = 1;
    other.end.signal = SIGTERM;
    CHECK(concluded(other).fingerprint == fingerprint);
    other.device->line = 23;
    CHECK(concluded(other).fingerprint != fingerprint);
}

TEST_CASE("The fingerprint of a hang depends on call and launch, and not on times, threads or ends") {
    const std::string fingerprint = concluded(hung(SIGTERM)).fingerprint;
    CrashReport other = hung(SIGABRT);
    other.hang->calls.front().nanoseconds *= 2;
    other.hang->calls.front().call.thread = 18;
    other.hang->unended_count = 1;
    CHECK(concluded(other).fingerprint == fingerprint);
    other.hang->unended.front().name = "other_kernel";
    CHECK(concluded(other).fingerprint != fingerprint);
}

TEST_CASE("A repeated query, an op around it and further threads are reported as such") {
    CrashReport report = hung(SIGABRT);
    report.hang->calls.front().asks = true;
    report.hang->calls.front().call.inside = "mylib::my_op (run 0, call 2)";
    report.hang->calls.push_back(stuck_in("cuCtxSynchronize", 18));
    report.hang->unended.clear();
    CHECK(
        concluded(report).verdict ==
        "hang: cuStreamSynchronize, inside mylib::my_op (run 0, call 2), has returned \"not ready\" for 12.3 "
        "s; 2 threads are stalled; the process then ended with SIGABRT");
}

TEST_CASE("For a running process the report mentions no end, and the advice names the process") {
    const CrashReport report = concluded(hung(0));
    CHECK(report.verdict.find("then") == std::string::npos);
    CHECK(report.next.front().find("gdb -p 4242 ") != std::string::npos);
    CHECK(concluded(hung(SIGTERM)).next.front().find("gdb -p PID ") != std::string::npos);
    CHECK(report.next.back() ==
          "find the running kernel and its line: aoti-dbg run --triage --hang 30 --on-hang raise -- python "
          "infer.py");
}

TEST_CASE("A hang is reported with the finding about its run's input, however it ended") {
    for (const int signal : {0, SIGTERM, SIGABRT}) {
        CrashReport report = hung(signal);
        report.finding.emplace().kind = Finding::Kind::argument;
        report.finding->kernel = "other_kernel";
        report.finding->run = report.faulted->run;
        CAPTURE(signal);
        CHECK(concluded(report).kind == CrashClass::hang);
        CHECK(concluded(report).verdict.find("; its run started with a finding: ") != std::string::npos);
    }
}

TEST_CASE("A device fault takes precedence over a hang, and a hang over a failed call") {
    CrashReport report = hung(SIGABRT);
    report.failed = call_of("failing_kernel");
    report.failed->result = 1;
    CHECK(concluded(report).kind == CrashClass::hang);
    report.device.emplace().kernel = "spin_kernel";
    report.device->error = 700;
    CHECK(concluded(report).kind == CrashClass::kernel);
}

TEST_CASE("The report of a hang lists every stalled thread and caller, with complete names") {
    CrashReport report = hung(SIGTERM);
    const std::string name(300, 'x');
    for (std::uint64_t i = 100; i < 300; ++i)
        report.hang->calls.push_back(stuck_in(name, i));
    for (int i = 0; i < 40; ++i)
        report.hang->calls.front().place.callers.push_back("caller_" + std::to_string(i) +
                                                           std::string(200, 'c'));
    const std::string text = text_of(concluded(report));
    for (std::uint64_t i = 100; i < 300; ++i)
        CHECK(text.find("in thread " + std::to_string(i) + "\n") != std::string::npos);
    CHECK(text.find(" " + name + "\n") != std::string::npos);
    for (int i = 0; i < 40; ++i)
        CHECK(text.find(" caller_" + std::to_string(i) + std::string(200, 'c') + "\n") != std::string::npos);
}

TEST_CASE("The fingerprint of a launch that the ring has lost keeps its older text") {
    CrashReport report = hung(SIGTERM);
    report.hang->unended.clear();
    report.faulted.reset();
    report.hang->calls.front().call.name = kOverwrittenLaunch;
    CHECK(concluded(report).fingerprint ==
          fingerprint_of({"hang", "a launch that the flight ring does not have any more", "", ""}));
}

}  // namespace
}  // namespace aoti_dbg::test
