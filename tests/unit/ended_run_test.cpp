// The result of a run from flight rings written by hand: whose end is reported, and its cause.
#include <sys/wait.h>

#include <csignal>

#include "tests/support/catch.hpp"
#include "tests/support/unwrapped.hpp"
#include "tests/unit/ended_run_fixture.hpp"

namespace aoti_dbg::test::ended_run_test {

TEST_CASE("A child that a signal ended is reported with its signal, whatever the program's exit status") {
    const Process child = Process(kChild, SIGSEGV, kChild).with(kChild, {record(1, 2), open_record(2, 0)});
    for (const int status : {kExit1, 3 << 8, 139 << 8}) {
        for (const std::vector<Process>& processes :
             {std::vector{child}, {exited_normally(kStarted), child}, {child, exited_normally(kChild + 1)}}) {
            const Report report = report_of(status, processes);
            CHECK(report.verdict.is_worth_reporting);
            CHECK(report.verdict.headline ==
                  "segmentation fault (SIGSEGV) inside strg::bomb (run 0, call 2)");
            CHECK(report.evidence.end.pid == kChild);
            CHECK_FALSE(report.evidence.end.signal_is_guessed);
            CHECK(report.evidence.end.exit_status == status >> 8);
            CHECK(
                contains(unwrapped(text_of(report)),
                         "process 4000200, /usr/bin/victim, ended with SIGSEGV; the program then exited with "
                         "status " +
                             std::to_string(status >> 8) + " "));
        }
    }
}

TEST_CASE("A child that crashed below a program that exited normally is reported") {
    const Process child = Process(kChild, SIGSEGV, kChild).with(kChild, {open_record(1, 0)});
    const Report report = report_of(0, {exited_normally(kStarted), child});
    CHECK(report.verdict.is_worth_reporting);
    CHECK(report.evidence.end.signal == SIGSEGV);
    CHECK(contains(text_of(report), "ended with SIGSEGV; the program then exited with status 0"));
    // Worker pools end their children like this.
    const Process stopped = Process(kChild, SIGTERM).with(kChild, {open_record(1, 0)});
    CHECK_FALSE(report_of(0, {exited_normally(kStarted), stopped}).verdict.is_worth_reporting);
    CHECK_FALSE(report_of(0, {exited_normally(kStarted), Process(kChild).with(kChild, {record(1, 0)})})
                    .verdict.is_worth_reporting);
}

TEST_CASE("Of several crashes without times the last one is reported; the program's own end has precedence") {
    const Process first = Process(kChild, SIGSEGV).with(kChild, {open_record(1, 0)});
    const Process last = Process(kChild + 1, SIGFPE).with(kChild + 1, {open_record(1, 2)});
    const Report report = report_of(kExit1, {first, last});
    CHECK(report.evidence.end.pid == kChild + 1);
    CHECK(has_note(report, "process 4000200 (/usr/bin/victim) ended with SIGSEGV"));
    const Report below = report_of(0, {exited_normally(kStarted), first, last});
    CHECK(below.evidence.end.pid == kChild + 1);
    CHECK(has_note(below, "process 4000200 (/usr/bin/victim) ended with SIGSEGV"));
    Process started = Process(kStarted, SIGSEGV).with(kStarted, {open_record(1, 0)});
    CHECK(report_of(SIGABRT, {started, first}).evidence.end.signal == SIGABRT);
    CHECK(report_of(SIGABRT, {started, first}).evidence.end.pid == kStarted);
    // Its own handler ended it with a status.
    started.header.signal = SIGSEGV;
    CHECK(report_of(kExit1, {started}).evidence.end.signal == 0);
    // No command waited for it, so its own record is all there is.
    CHECK(report_of(0, {started}, false).evidence.end.signal == SIGSEGV);
}

TEST_CASE("If a killed program recorded nothing, its child that died inside a call is reported") {
    const Process child = Process(kChild).with(kChild, {record(1, 2), open_record(2, 0)});
    const Report killed = report_of(SIGKILL, {child, exited_normally(kChild + 1)});
    CHECK(
        contains(killed.verdict.headline,
                 "killed (SIGKILL, inferred from the end of the program) inside strg::bomb (run 0, call 2)"));
    CHECK(killed.evidence.end.is_descendant);
    CHECK(killed.evidence.end.signal_is_guessed);
    CHECK(report_of(SIGKILL, {exited_normally(kStarted), child}).evidence.end.pid == kStarted);
    // A process that exited normally says nothing about the signal.
    const Report other = report_of(SIGKILL, {exited_normally(kChild)});
    CHECK(other.evidence.end.pid == kStarted);
    CHECK(contains(other.verdict.headline, "killed (SIGKILL); this process recorded no model call"));
    CHECK(contains(report_of(SIGKILL, {}).verdict.headline, "killed (SIGKILL); no model call was recorded"));
}

TEST_CASE("Of several calls in flight the one in the signal's thread is named") {
    Process process(kStarted, SIGSEGV, 31);
    process.with(kStarted, {open_run(1, 1)}).with(31, {open_run(2, 2), in_run(open_record(3, 0), 2)});
    process.with(32, {in_run(open_record(4, 2), 3)});
    const Report report = report_of(SIGSEGV, {process});
    CHECK(report.verdict.headline == "segmentation fault (SIGSEGV) inside strg::bomb (run 2, call 3)");
    REQUIRE(report.evidence.call() != nullptr);
    CHECK(report.evidence.call()->thread == 31);
    CHECK(report.evidence.also_in_flight.size() == 2);
    const std::string text = text_of(report);
    CHECK(
        contains(text, "  other threads  strg::other (run 3, call 4)\n                 run 1 of model 0\n"));

    // Between two calls of its own.
    process.header.signal_thread = 40;
    process.with(40, {in_run(record(9, 2), 7)});
    CHECK(report_of(SIGSEGV, {process}).verdict.headline ==
          "segmentation fault (SIGSEGV) outside any call; the last call was strg::other (run 7, call 9)");
}

TEST_CASE("A fault in a thread without calls is reported with the calls that it may have worked for") {
    Process process(kStarted, SIGFPE, 40);
    process.with(kStarted, {open_run(1, 2), in_run(open_record(2, 0), 2)});
    const Report report = report_of(SIGFPE, {process});
    CHECK(contains(report.verdict.headline,
                   "(SIGFPE) in a thread without calls of its own, while strg::bomb (run 2, call 2) was "
                   "running"));
    REQUIRE(report.evidence.call() != nullptr);
    CHECK(report.evidence.call()->name == "strg::bomb");
    process.with(32, {in_run(open_record(4, 2), 3)});
    CHECK(contains(report_of(SIGFPE, {process}).verdict.headline,
                   " in a thread without calls of its own, while 2 threads were inside calls: "
                   "strg::bomb (run 2, call 2), strg::other (run 3, call 4)"));

    // A signal that was sent is not a fault, so it does not belong to any open call.
    process.header.signal = SIGTERM;
    CHECK(report_of(SIGTERM, {process}).evidence.call() == nullptr);
    // An abort may come from a watchdog, so the call is not part of the fingerprint.
    Process watched(kStarted, SIGABRT, 40);
    watched.with(kStarted, {open_run(1, 2), in_run(open_record(2, 0), 2)});
    const Report aborted = report_of(SIGABRT, {watched});
    CHECK(contains(aborted.verdict.headline,
                   "(SIGABRT) in a thread without calls of its own, while strg::bomb"));
    CHECK(aborted.verdict.fingerprint == fingerprint_of({"host", "SIGABRT", "", ""}));
    // An abort of ours is different: it ends the program because of a finding.
    Seen seen{};
    seen.findings = 1;
    CHECK(report_of(SIGABRT, {watched}, true, seen).evidence.call() == nullptr);
    watched.events = events_of({2});
    const Report ours = report_of(SIGABRT, {watched}, true, Seen{});
    CHECK(ours.evidence.in_flight.empty());
    REQUIRE(ours.evidence.found);
    CHECK(ours.evidence.call() == &*ours.evidence.found);
    // This crash is that of a driver thread over a context that a call found lost.
    ring::Record lost = record(9, 2);
    lost.result = 700;
    process.header.signal = SIGSEGV;
    process.with(33, {lost});
    CHECK(contains(report_of(SIGSEGV, {process}).verdict.headline, "CUDA error 700"));
}

TEST_CASE("If the thread is unknown, calls are listed before runs that wait for them") {
    Process process(kStarted);
    process.with(kStarted, {open_run(1, 1)}).with(31, {open_run(2, 2), in_run(open_record(3, 0), 2)});
    CHECK(report_of(SIGSEGV, {process}).verdict.headline ==
          "segmentation fault (SIGSEGV) while 2 threads were inside calls: "
          "strg::bomb (run 2, call 3), run 1 of model 0");
    // Another signal than the recorded one ended it.
    process.header.signal = SIGFPE;
    process.header.signal_thread = 31;
    CHECK(report_of(SIGSEGV, {process}).evidence.call() == nullptr);
}

ring::Record failed(ring::Record record) {
    record.result = 1;
    if (record.kind == ring::CallKind::triton) record.kind = ring::CallKind::extern_op;
    return record;
}

TEST_CASE("A failed call that the program survived does not explain a signal, and an exit only perhaps") {
    Process process(kStarted);
    process.with(kStarted, {failed(ended_run(1, 1)), in_run(failed(record(2, 0)), 1), ended_run(3, 2),
                            in_run(record(4, 2), 2)});
    const Report aborted = report_of(SIGABRT, {process});
    CHECK(aborted.verdict.headline ==
          "aborted (SIGABRT) outside any call; the last call was strg::other (run 2, call 4)");
    CHECK(has_note(aborted, "earlier, strg::bomb (run 1, call 2) failed, but later runs succeeded"));
    CHECK_FALSE(contains(text_of(aborted), "  call "));
    const Report exited = report_of(kExit1, {process});
    CHECK(exited.verdict.headline ==
          "the program exited with status 1; earlier, strg::bomb (run 1, call 2) failed, but later runs "
          "succeeded");
    CHECK(contains(text_of(exited), "  call           strg::bomb (run 1, call 2)"));

    process.threads.front().second.resize(2);
    CHECK(report_of(SIGABRT, {process}).verdict.headline ==
          "strg::bomb (run 1, call 2) failed; the process then ended with SIGABRT");
    CHECK(report_of(kExit1, {process}).verdict.headline ==
          "strg::bomb (run 1, call 2) failed; the program then exited with status 1");
    // Other threads continue while an exception ends the process.
    process.with(31, {ended_run(5, 3)});
    CHECK(report_of(SIGABRT, {process}).verdict.headline ==
          "strg::bomb (run 1, call 2) failed; the process then ended with SIGABRT");
}

TEST_CASE("Runs and loading are not counted as calls") {
    ring::Record load = ended_run(1, ring::kNoRun);
    load.kind = ring::CallKind::lifecycle;
    Process process(kStarted);
    process.header.runs = 2;
    process.with(kStarted, {load, ended_run(2, 1), record(3, 0), ended_run(4, 2), open_record(5, 0)});
    CHECK(report_of(SIGSEGV, {process}).evidence.calls == 2);
}

TEST_CASE("A child that vanished gets a note beside a failed program, and is reported if it is alone") {
    const Process vanished = Process(kChild).with(kChild, {record(1, 0)});
    const Report beside = report_of(kExit1, {exited_normally(kStarted), vanished});
    CHECK(beside.verdict.is_worth_reporting);
    CHECK(beside.evidence.end.pid == kStarted);
    CHECK(has_note(beside, "process 4000200 (/usr/bin/victim) ended abnormally"));
    const Report alone = report_of(kExit1, {vanished});
    CHECK(alone.evidence.end.pid == kChild);
    CHECK(contains(alone.verdict.headline, "process 4000200 ended abnormally"));
}

TEST_CASE("The counts of the processes replace what they could not write") {
    Seen seen{};
    seen.loaded = 3;
    const auto advice = [&](int status) { return report_of(status, {}, true, seen).verdict.advice.front(); };
    CHECK(contains(advice(SIGSEGV), "at least 3 programs loaded the library, but none made a call"));
    seen.recording = 1;
    CHECK(contains(advice(SIGSEGV), "calls were made, but none was recorded"));
    CHECK(contains(report_of(SIGSEGV, {}).verdict.advice.front(),
                   "check that the program with the model loads the library"));

    CHECK_FALSE(report_of(0, {}, true, seen).verdict.is_worth_reporting);
    seen.findings = 2;
    const Report lost = report_of(0, {}, true, seen);
    CHECK(lost.verdict.is_worth_reporting);
    CHECK(lost.verdict.kind == CrashClass::unknown);
    CHECK(lost.verdict.headline == "2 findings, none of them recorded");
    CHECK(lost.evidence.finding_count == 2);
    CHECK(has_note(lost, "the processes counted 2 findings, but not all are in this folder"));
    // It is still running, so its open call counts.
    const Process open = Process(kStarted).with(kStarted, {open_record(1, 0)});
    CHECK_FALSE(contains(report_of(0, {open}, false, seen).verdict.headline, "recorded"));
    // A signal explains the end without a guess.
    CHECK(contains(report_of(SIGSEGV, {}, true, seen).verdict.headline, "segmentation fault (SIGSEGV)"));
}

TEST_CASE("Of several findings the one of the open run is reported, else the first") {
    Process process(kStarted, SIGABRT, kStarted);
    process.events = events_of({2, 5});
    process.with(kStarted, {open_run(1, 5), in_run(open_record(2, 0), 5)});
    const Report report = report_of(SIGABRT, {process});
    CHECK(report.evidence.finding_count == 2);
    REQUIRE(report.evidence.finding);
    CHECK(report.evidence.finding->run == 5);
    CHECK(contains(report.verdict.headline, "expected size 8, got 5 (run 5)"));
    process.threads.front().second = {ended_run(1, 7)};
    CHECK(report_of(SIGABRT, {process}).evidence.finding->run == 2);
}

/// A file of events of that process with one NaN, in the call with that number.
std::string nan_of(std::uint32_t pid, std::uint64_t sequence) {
    std::string text =
        "{\"event\":\"start\",\"start_ns\":1800000000000000000,\"pid\":" + std::to_string(pid) + "}\n";
    Finding finding;
    finding.kind = Finding::Kind::nan;
    finding.kernel = "strg::other";
    finding.line = 12;
    finding.original_aten = {"aten.sqrt"};
    finding.sequence = sequence;
    finding.thread = pid;
    finding.model = 0;
    finding.run = 2;
    finding.call = 3;
    finding.tensor.label = "buf4";
    finding.tensor.dtype = "float32";
    finding.tensor.sizes_known = true;
    finding.tensor.sizes = {8, 16};
    finding.tensor.unmeasured = "it was not requested";
    append_finding_json(finding, text);
    if (text.back() != '\n') text += "\n";
    return text;
}

/// A process with two calls in run 2, the second with a finding.
Process with_finding(std::uint32_t pid, std::uint64_t sequence = 3) {
    Process process(pid);
    process.header.ended = 1;
    process.with(pid, {ended_run(1, 2), in_run(record(2, 0), 2), in_run(record(3, 2), 2)});
    process.events = nan_of(pid, sequence);
    return process;
}

TEST_CASE("A finding of a program that exited normally is reported with its call and the earlier ones") {
    const Report report =
        report_of(0, {exited_normally(kChild), with_finding(kStarted), exited_normally(kChild + 1)});
    CHECK(report.verdict.is_worth_reporting);
    CHECK(report.verdict.headline == "NaN in buf4, first made by strg::other (run 2, call 3)");
    REQUIRE(report.evidence.call() != nullptr);
    CHECK(report.evidence.call()->sequence == 3);
    CHECK(report.evidence.call()->kind == ring::CallKind::triton);
    CHECK(report.evidence.call()->line == 12);
    REQUIRE(report.evidence.before.size() == 1);
    CHECK(report.evidence.before.front().name == "strg::bomb");
    REQUIRE(report.evidence.arguments.size() == 1);
    CHECK(report.evidence.arguments.front().what == "float32 [8, 16]");
    CHECK(report.verdict.culprit.is_suspect(0));
    CHECK(report.evidence.end.pid == kStarted);
    CHECK(report.evidence.end.exit_status == 0);
    const std::string text = text_of(report);
    CHECK(contains(text, "  call           strg::other (run 2, call 3), launch 3, thread 4000100"));
    CHECK(contains(text, "  ATen           aten.sqrt\n"));
    CHECK(contains(text, "  before         strg::bomb (run 2, call 2)\n"));
    CHECK(contains(text, "  arguments      buf4: float32 [8, 16]  <- this one\n"));
}

TEST_CASE("The calls of a finding are those of the process that has it") {
    Process started = exited_normally(kStarted);
    const Report below = report_of(0, {started, with_finding(kChild)});
    REQUIRE(below.evidence.call() != nullptr);
    CHECK(below.evidence.call()->thread == kChild);
    CHECK(below.evidence.before.size() == 1);
    CHECK(below.evidence.end.pid == kChild);
    CHECK(contains(text_of(below), "; the program then exited with status 0"));
    // This also holds if another process's end is reported.
    const Report failed = report_of(kExit1, {started, with_finding(kChild)});
    CHECK(contains(failed.verdict.headline,
                   "NaN in buf4, first made by strg::other (run 2, call 3); the program then exited with"));
    CHECK(failed.evidence.call()->thread == kChild);
    CHECK(failed.evidence.end.pid == kStarted);
}

TEST_CASE("If the ring has lost a finding's call, the finding's own facts are used") {
    // The number belongs to another call, to none, or there is no ring.
    for (const std::uint64_t sequence : {2U, 99U, 0U}) {
        CAPTURE(sequence);
        const Report report = report_of(0, {with_finding(kStarted, sequence)});
        REQUIRE(report.evidence.call() != nullptr);
        CHECK(report.evidence.call()->name == "strg::other");
        CHECK(report.evidence.call()->sequence == sequence);
        CHECK(report.evidence.call()->line == 12);
        CHECK(report.evidence.before.empty());
    }
    Process other = exited_normally(kChild);
    other.events = nan_of(kStarted, 3);
    const Report report = report_of(0, {other});
    REQUIRE(report.evidence.call() != nullptr);
    CHECK(report.evidence.call()->run == 2);
    CHECK(report.evidence.end.pid == kStarted);
}

TEST_CASE("A crash is reported with its own call, whatever earlier findings there are") {
    Process process = with_finding(kStarted);
    process.header.ended = 0;
    process.header.signal = SIGSEGV;
    process.threads.front().second.push_back(in_run(open_record(4, 0), 3));
    const Report report = report_of(SIGSEGV, {process});
    REQUIRE(report.evidence.call() != nullptr);
    CHECK(report.evidence.call()->sequence == 4);
    CHECK_FALSE(report.evidence.found);
    CHECK(report.evidence.finding);
}

}  // namespace aoti_dbg::test::ended_run_test
