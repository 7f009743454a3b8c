// AOTI_DBG_ON_HANG=raise and abort. The library asks the driver what runs on the device, the report says so,
// and the program gets an error or ends.
#include <csignal>

#include "tests/preload/hang_support.hpp"

namespace aoti_dbg::test::hang_record_test {
namespace {

/// With these options the library asks the driver what runs on the device.
const Lines kRaising = {"--triage", "--scope", "all", "--hang", "1", "--on-hang", "raise"};

/// The report names the kernel as certain, by the driver's record, and no other file stays behind.
void check_is_recorded(const WatchedRun& run, const std::string& verdict) {
    const Json report = run.report();
    CAPTURE(report.dump(2));
    CHECK(report.at("class") == "hang");
    const std::string said = report.at("verdict").get<std::string>();
    CHECK(said.rfind("hang: " + verdict, 0) == 0);
    CHECK(contains(said, " is running on the device, at line 40 of its source"));
    CHECK(report.at("hang").at("recorded") == true);
    CHECK(report.at("call").at("kernel") == "endless_kernel");
    CHECK_FALSE(report.at("call").contains("likely"));
    const Json& device = report.at("device");
    CHECK(device.at("kernel") == "endless_kernel");
    CHECK(device.at("running") == true);
    CHECK(device.at("launch") == 2);
    CHECK(device.at("block") == "[1, 0, 0]");
    CHECK(device.at("thread") == "[3, 0, 0]");
    CHECK(device.at("warps") == 1);
    CHECK(contains(read_text(run.out() / "report.txt"), "block [1, 0, 0], thread [3, 0, 0] of grid"));
    CHECK(Preloaded::files(run.out(), "gpu").empty());
}

TEST_CASE("With raise a hung call returns an error, and the report says what ran on the device") {
    for (const auto& [how, call] : kWaits) {
        for (const char* completion : {"auto", "off"}) {
            CAPTURE(how, completion);
            const WatchedRun run(joined(kRaising, {"--completion", completion}), victim(how));
            CHECK(run.outcome.out == "set\n" + how + ": 719\nended\n");
            CHECK(run.outcome.exit_code == 0);
            CHECK(contains(run.outcome.err, "hang detected: " + call));
            CHECK(
                contains(run.outcome.err, "the library requests a GPU core dump of what runs on the device"));
            CHECK_FALSE(contains(run.outcome.err, "the hang is over"));
            check_is_recorded(run, call + " has ");
        }
    }
    const WatchedRun asleep(kRaising, joined(victim("sleep"), {"done"}),
                            "until [ -e \"$OUT/gpu.core\" ]; do sleep 0.1; done; sleep 0.5; touch done");
    CHECK(asleep.outcome.exit_code == 0);
    check_is_recorded(asleep, "endless_kernel has not finished for 1.");
    CHECK(contains(asleep.report().at("verdict").get<std::string>(),
                   " s, and no call waits for it; it is running on the device"));
}

TEST_CASE("A context created after the driver's pipe lost its name works, and a hang in it is recorded") {
    const WatchedRun run(kRaising, victim("second"), "", {{"FAKE_CUDA_DEVICES", "2"}});
    CHECK(run.outcome.out == "set\nsecond: 719\nended\n");
    CHECK(run.outcome.exit_code == 0);
    check_is_recorded(run, "cuStreamSynchronize has ");
    CHECK(run.report().at("device").at("device") == "cuda:1");
}

TEST_CASE("A context in the place of a reset one works, although the driver writes no dump of it") {
    const WatchedRun run(joined(kAborting, {"--triage", "--scope", "all"}), victim("anew"));
    CHECK(run.outcome.signal == SIGABRT);
    CHECK(run.outcome.out == "set\n");
    CHECK(contains(run.outcome.err, "the driver wrote no GPU core dump of what runs on the device"));
    const Json report = run.report();
    CHECK(report.at("class") == "hang");
    CHECK_FALSE(report.at("hang").contains("recorded"));
    CHECK(report.at("call").at("kernel") == "endless_kernel");
}

TEST_CASE("With abort the driver writes a record too, and the program ends by SIGABRT as before") {
    for (const char* on_fault : {"continue", "abort"}) {
        CAPTURE(on_fault);
        const WatchedRun run(joined(kAborting, {"--triage", "--scope", "all", "--on-fault", on_fault}),
                             victim("stream"));
        CHECK(run.outcome.signal == SIGABRT);
        CHECK(run.outcome.out == "set\n");
        check_is_recorded(run, "cuStreamSynchronize has not returned for 1.");
        CHECK(contains(run.report().at("verdict").get<std::string>(),
                       " s; endless_kernel is running on the device"));
    }
}

TEST_CASE("A fault that the driver has not noticed is reported as a fault and not as a hang") {
    const Variables lost = {{"FAKE_CUDA_LOST_FAULT", "1"}, {"FAKE_CUDA_FAIL_AT", "8"}};
    const Lines program = {victim_path("fault_window"), "stream"};
    const WatchedRun run(kRaising, program, "", lost);
    CHECK(run.outcome.out == "launched\nstream: 700\n");
    CHECK(run.outcome.exit_code == 0);
    const Json report = run.report();
    CAPTURE(report.dump(2));
    CHECK(report.at("class") == "kernel");
    CHECK(report.at("verdict") ==
          "illegal memory access in second_kernel: read of 4 bytes at 0x10, at line 40 of its source");
    CHECK(report.at("device").at("launch") == 8);
    CHECK_FALSE(report.at("device").contains("running"));
    CHECK(contains(report.at("notes").dump(),
                   "the driver did not report this fault. A dump requested for a hang shows it: "
                   "cuStreamSynchronize has not returned for "));
    CHECK(Preloaded::files(run.out(), "gpu").empty());
}

TEST_CASE("An idle device is reported as such, and a hang in host code has no effect on the driver") {
    const WatchedRun idle(kRaising, victim("stream"), "", {{"FAKE_CUDA_STANDING_KERNEL", ""}});
    CHECK(idle.outcome.out == "set\nstream: 719\nended\n");
    CHECK(idle.report().at("class") == "hang");
    CHECK_FALSE(idle.report().contains("device"));
    CHECK(contains(idle.report().at("notes").dump(), "gpu.core shows no exception and no running kernel"));
    const WatchedRun host(kRaising, model_host({model_path("cpu")}),
                          "until [ -e \"$OUT/hang.json\" ]; do sleep 0.1; done; sleep 0.5; kill -TERM $run",
                          {{"FAKE_TORCH_HANG_AT", "1"}});
    CHECK(contains(host.outcome.err,
                   "AOTI_DBG_ON_HANG=raise has no effect: no stalled call waits for the device"));
    CHECK(host.report().at("class") == "hang");
}

TEST_CASE("Where the driver cannot be asked, a message says so and the program is still hung") {
    const std::string then_stop =
        "until [ -e \"$OUT/hang.json\" ]; do sleep 0.1; done; sleep 1; kill -TERM $run";
    const Lines untriaged = {"--hang", "1", "--on-hang", "raise"};
    const std::vector<std::pair<Lines, Variables>> ways = {{untriaged, {}},
                                                           {kRaising, {{"FAKE_CUDA_NO_COREDUMP", "1"}}}};
    for (const auto& [flags, variables] : ways) {
        CAPTURE(flags);
        const WatchedRun run(flags, victim("stream"), then_stop, variables);
        CHECK(run.outcome.exit_code == 128 + SIGTERM);
        CHECK(contains(run.outcome.err,
                       "AOTI_DBG_ON_HANG=raise has no effect: the driver cannot write a GPU core dump"));
        CHECK_FALSE(run.hang(run.out()).contains("recorded"));
    }
}

TEST_CASE("A program that does not hang finds no pipe in its output folder and exits normally") {
    for (const char* how : {"idle", "steps"}) {
        CAPTURE(how);
        const WatchedRun run(kRaising, victim(how), "sleep 1.5; ls \"$OUT\"");
        CHECK(run.outcome.exit_code == 0);
        CHECK_FALSE(contains(run.outcome.out, ".pipe"));
        CHECK(contains(run.outcome.out, "flight.ring"));
        CHECK(Preloaded::files(run.out(), "gpu").empty());
        CHECK_FALSE(run.has_report());
    }
}

TEST_CASE(
    "A fault that is still being recorded is reported as a fault, even if that outlasts the hang limit") {
    const Variables slow = {
        {"FAKE_CUDA_FAIL_AT", "8"}, {"FAKE_CUDA_FAULT_WINDOW", "100"}, {"FAKE_CUDA_GATHER", "2500"}};
    for (const char* on_hang : {"raise", "abort"}) {
        CAPTURE(on_hang);
        const WatchedRun run({"--triage", "--scope", "all", "--hang", "1", "--on-hang", on_hang},
                             {victim_path("fault_window"), "stream"}, "", slow);
        const bool aborts = std::string(on_hang) == "abort";
        CHECK(run.outcome.signal == (aborts ? SIGABRT : 0));
        CHECK(run.outcome.out == (aborts ? "launched\n" : "launched\nstream: 700\n"));
        CHECK(run.report().at("class") == "kernel");
        CHECK(run.report().at("call").at("kernel") == "second_kernel");
    }
}

TEST_CASE("Of the running kernels the report names the one that a call is known to wait for") {
    // The driver names another kernel here, so the verdict has both.
    const WatchedRun run(kRaising, victim("stream"), "", {{"FAKE_CUDA_STANDING_KERNEL", "other_kernel"}});
    const Json report = run.report();
    CAPTURE(report.dump(2));
    const std::string verdict = report.at("verdict").get<std::string>();
    CHECK(contains(verdict,
                   "; it waits for endless_kernel, which is unfinished according to completion markers"));
    CHECK(contains(verdict, "; other_kernel is running on the device, at line 40 of its source"));
    CHECK(report.at("device").at("kernel") == "other_kernel");
    // No launch of that kernel is on record.
    CHECK((!report.contains("call") || report.at("call").at("kernel") != "endless_kernel"));
}

TEST_CASE("A recorded hang counts for the exit code, whatever its record contains") {
    for (const Variables& variables : {Variables{}, Variables{{"FAKE_CUDA_STANDING_KERNEL", ""}}}) {
        const WatchedRun run(joined(kRaising, {"--error-exitcode", "41"}), victim("stream"), "", variables);
        CHECK(run.outcome.exit_code == 41);
    }
}

TEST_CASE("A hang whose record crashes the driver's debugger is reported as a hang and not as a fault") {
    const WatchedRun run(kRaising, victim("stream"), "", {{"FAKE_CUDA_DEBUGGER_CRASHES", "1"}});
    CHECK(run.outcome.signal == SIGSEGV);
    CAPTURE(run.outcome.err);
    CHECK(run.report().at("class") == "hang");
    CHECK(contains(run.report().at("verdict").get<std::string>(), "hang: cuStreamSynchronize has "));
    CHECK_FALSE(contains(run.outcome.err, "a kernel faulted"));
    CHECK(contains(run.report().at("notes").dump(), "but wrote no dump that shows it"));
}

TEST_CASE("A program that exits at once leaves no pipe, and an earlier pipe does no harm") {
    const WatchedRun run(kRaising, {victim_path("fault_window"), "_exit"});
    CHECK(run.outcome.out == "launched\n");
    CHECK(Preloaded::files(run.out(), "gpu").empty());
}

}  // namespace
}  // namespace aoti_dbg::test::hang_record_test
