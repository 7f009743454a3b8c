// The report of a hang: its subject, and what takes precedence over it.
#include <algorithm>
#include <csignal>
#include <nlohmann/json.hpp>

#include "tests/support/catch.hpp"
#include "tests/unit/crash_report_fixture.hpp"

namespace aoti_dbg::test::crash_report_hang_test {
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

Evidence hung(int signal) {
    Evidence evidence = ended_by(signal);
    Hang& hang = evidence.hang.emplace();
    hang.calls = {stuck_in("cuStreamSynchronize", 17)};
    hang.unended = {call_of("spin_kernel")};
    hang.unended.front().is_likely = true;
    hang.unended_count = 7;
    evidence.faulted = hang.unended.front();
    evidence.uses_cuda = true;
    evidence.end.is_running = signal == 0;
    return evidence;
}

TEST_CASE("A hang is reported with the call, the launch and the way it ended") {
    const Evidence evidence = hung(SIGTERM);
    CHECK(judge(evidence).kind == CrashClass::hang);
    CHECK(
        judge(evidence).headline ==
        "hang: cuStreamSynchronize has not returned for 12.3 s; it likely waits for spin_kernel (run 0, "
        "call 3), the oldest of 7 launches not known to have finished; the process then ended with SIGTERM");
    CHECK(evidence.call()->name == "spin_kernel");
    const std::string text = text_of(evidence);
    CHECK(text.find("stalled        cuStreamSynchronize on stream 0x5, for 12.3 s, in thread 17\n") !=
          std::string::npos);
    CHECK(text.find("unfinished     spin_kernel (likely run 0, call 3)\n") != std::string::npos);
    CHECK(judge(evidence).repeat.front() ==
          "CUDA_LAUNCH_BLOCKING=1 aoti-dbg run --triage --hang 30 -- python infer.py");
    const std::string json = kept_json(evidence);
    const nlohmann::json read = nlohmann::json::parse(json);
    CHECK(read.at("class") == "hang");
    CHECK(read.at("hang").at("unended_count") == 7);
    CHECK(read.at("hang").at("calls").at(0).at("nanoseconds") == 12'345'000'000U);
}

TEST_CASE("A launch that does not finish and that no call waits for is reported as such") {
    Evidence evidence = hung(SIGTERM);
    evidence.hang->by_markers = true;
    evidence.hang->calls = {stuck_in("", 17)};
    evidence.hang->calls.front().call = evidence.hang->unended.front();
    evidence.hang->calls.front().call.is_likely = evidence.faulted->is_likely = false;
    evidence.hang->calls.front().is_without_wait = true;
    CHECK(judge(evidence).kind == CrashClass::hang);
    CHECK(judge(evidence).headline ==
          "hang: spin_kernel (run 0, call 3) has not finished for 12.3 s, according to completion markers, "
          "and no call waits for it; 6 launches are queued behind it; the process then ended with SIGTERM");
    CHECK(text_of(evidence).find("unfinished for 12.3 s, launched by thread ") != std::string::npos);
    const std::string json = kept_json(evidence);
    CHECK(nlohmann::json::parse(json).at("hang").at("calls").at(0).at("nobody_waits") == true);
}

TEST_CASE("Facts from completion markers are reported as certain") {
    Evidence evidence = hung(SIGTERM);
    evidence.hang->by_markers = true;
    evidence.hang->unended.front().is_likely = evidence.faulted->is_likely = false;
    CHECK(judge(evidence).headline ==
          "hang: cuStreamSynchronize has not returned for 12.3 s; it waits for spin_kernel (run 0, call 3), "
          "which is unfinished according to completion markers; 6 launches are queued behind it; the process "
          "then ended with SIGTERM");
    CHECK(text_of(evidence).find("likely") == std::string::npos);
    for (const auto& [count, words] : {std::pair{1, "markers; the process then"},
                                       {2, "; 1 launch is queued behind it; the process then"}}) {
        evidence.hang->unended_count = static_cast<std::uint64_t>(count);
        CHECK(judge(evidence).headline.find(words) != std::string::npos);
    }
}

/// A hang with the driver's record of the running kernel.
Evidence recorded() {
    Evidence evidence = hung(SIGABRT);
    evidence.hang->is_recorded = true;
    evidence.faulted->is_likely = false;
    DeviceFault& device = evidence.device.emplace();
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
    return evidence;
}

TEST_CASE("A kernel in the driver's record is reported with its line, and not as a fault") {
    const Evidence evidence = recorded();
    CHECK(judge(evidence).kind == CrashClass::hang);
    CHECK(judge(evidence).headline ==
          "hang: cuStreamSynchronize has not returned for 12.3 s; spin_kernel (run 0, call 3) is running on "
          "the device, at line 22 of its source; the process then ended with SIGABRT");
    const std::string text = text_of(evidence);
    CHECK(text.find("running        block [2, 0, 0], thread [5, 0, 0] of grid [8, 1, 1] x [256, 1, 1] on") !=
          std::string::npos);
    CHECK(text.find("on cuda:0; 60 of\n                 64 warps at this line") != std::string::npos);
    CHECK(text.find("source         line 22: while flag >= 0:") != std::string::npos);
    CHECK(text.find("fault ") == std::string::npos);
    const std::string json = kept_json(evidence);
    const nlohmann::json read = nlohmann::json::parse(json);
    CHECK(read.at("hang").at("recorded") == true);
    CHECK(read.at("device").at("running") == true);
    CHECK(read.at("device").at("warps_there") == 60);
    // The driver was already asked, so the advice does not repeat it.
    CHECK(json.find("--on-hang raise") == std::string::npos);
    Evidence unnamed = recorded();
    unnamed.faulted.reset();
    unnamed.device->kernel.clear();
    unnamed.device->line = 0;
    CHECK(
        judge(unnamed).headline ==
        "hang: cuStreamSynchronize has not returned for 12.3 s; an unknown kernel is running on the device; "
        "the process then ended with SIGABRT");
}

TEST_CASE("The fingerprint of a recorded kernel depends on its name and line") {
    const std::string fingerprint = judge(recorded()).fingerprint;
    Evidence other = recorded();
    other.device->block = "[3, 0, 0]";
    other.device->warps = 1;
    other.end.signal = SIGTERM;
    CHECK(judge(other).fingerprint == fingerprint);
    other.device->line = 23;
    CHECK(judge(other).fingerprint != fingerprint);
}

TEST_CASE("The fingerprint of a hang depends on call and launch, and not on times, threads or ends") {
    const std::string fingerprint = judge(hung(SIGTERM)).fingerprint;
    Evidence other = hung(SIGABRT);
    other.hang->calls.front().nanoseconds *= 2;
    other.hang->calls.front().call.thread = 18;
    other.hang->unended_count = 1;
    CHECK(judge(other).fingerprint == fingerprint);
    other.hang->unended.front().name = "other_kernel";
    CHECK(judge(other).fingerprint != fingerprint);
}

TEST_CASE("A repeated query, an op around it and further threads are reported as such") {
    Evidence evidence = hung(SIGABRT);
    evidence.hang->calls.front().asks = true;
    evidence.hang->calls.front().call.inside = "mylib::my_op (run 0, call 2)";
    evidence.hang->calls.push_back(stuck_in("cuCtxSynchronize", 18));
    evidence.hang->unended.clear();
    CHECK(
        judge(evidence).headline ==
        "hang: cuStreamSynchronize, inside mylib::my_op (run 0, call 2), has returned \"not ready\" for 12.3 "
        "s; 2 threads are stalled; the process then ended with SIGABRT");
}

TEST_CASE("For a running process the report mentions no end, and the advice names the process") {
    const Evidence evidence = hung(0);
    CHECK(judge(evidence).headline.find("then") == std::string::npos);
    CHECK(judge(evidence).advice.front().find("gdb -p 4242 ") != std::string::npos);
    CHECK(judge(hung(SIGTERM)).advice.front().find("gdb -p PID ") != std::string::npos);
    CHECK(judge(evidence).advice.back() ==
          "find the running kernel and its line: aoti-dbg run --triage --hang 30 --on-hang raise -- python "
          "infer.py");
}

TEST_CASE("A hang is reported with the finding about its run's input, however it ended") {
    for (const int signal : {0, SIGTERM, SIGABRT}) {
        Evidence evidence = hung(signal);
        evidence.finding.emplace().kind = Finding::Kind::argument;
        evidence.finding->kernel = "other_kernel";
        evidence.finding->run = evidence.faulted->run;
        CAPTURE(signal);
        CHECK(judge(evidence).kind == CrashClass::hang);
        CHECK(judge(evidence).headline.find("; its run started with a finding: ") != std::string::npos);
    }
}

TEST_CASE("A device fault takes precedence over a hang, and a hang over a failed call") {
    Evidence evidence = hung(SIGABRT);
    evidence.failed = call_of("failing_kernel");
    evidence.failed->result = 1;
    CHECK(judge(evidence).kind == CrashClass::hang);
    evidence.device.emplace().kernel = "spin_kernel";
    evidence.device->error = 700;
    CHECK(judge(evidence).kind == CrashClass::kernel);
}

TEST_CASE("The report of a hang lists every stalled thread and caller, with complete names") {
    Evidence evidence = hung(SIGTERM);
    const std::string name(300, 'x');
    for (std::uint64_t i = 100; i < 300; ++i)
        evidence.hang->calls.push_back(stuck_in(name, i));
    for (int i = 0; i < 40; ++i)
        evidence.hang->calls.front().place.callers.push_back("caller_" + std::to_string(i) +
                                                             std::string(200, 'c'));
    const std::string text = text_of(evidence);
    for (std::uint64_t i = 100; i < 300; ++i)
        CHECK(text.find("in thread " + std::to_string(i) + "\n") != std::string::npos);
    CHECK(text.find(" " + name + "\n") != std::string::npos);
    for (int i = 0; i < 40; ++i)
        CHECK(text.find(" caller_" + std::to_string(i) + std::string(200, 'c') + "\n") != std::string::npos);
}

TEST_CASE("The fingerprint of a launch that the ring has lost keeps its older text") {
    Evidence evidence = hung(SIGTERM);
    evidence.hang->unended.clear();
    evidence.faulted.reset();
    evidence.hang->calls.front().call.name = kOverwrittenLaunch;
    CHECK(judge(evidence).fingerprint ==
          fingerprint_of({"hang", "a launch that the flight ring does not have any more", "", ""}));
}

}  // namespace
}  // namespace aoti_dbg::test::crash_report_hang_test
