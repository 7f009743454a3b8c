// AOTI_DBG_HANG and the reports of stopped programs. A hang is reported with what it waits for, other
// programs are left alone, and the watchdog changes no program.
#include <chrono>
#include <csignal>
#include <thread>

#include "tests/preload/hang_support.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/on_terminal.hpp"
#include "tests/support/places.hpp"

namespace aoti_dbg::test::hang_test {
namespace {

/// A shell condition: the ring has had that call open for more than a second.
std::string when_stuck_in(const std::string& call) {
    return "until \"$TOOL\" show --all \"$OUT\" 2>&1 | grep -q '" + call +
           ".*did not end'; do sleep 0.1; done; sleep 1.3; ";
}

Lines names_of(const Json& calls) {
    Lines names;
    for (const Json& call : calls)
        names.push_back(call.at("kernel").get<std::string>());
    return names;
}

/// Whether markers or the calls that returned show which launches have finished.
enum class By { markers, waits };

void check_names_the_kernel(const Json& report, const std::string& call, By by) {
    CAPTURE(report.dump(2));
    CHECK(report.at("class") == "hang");
    const std::string verdict = report.at("verdict").get<std::string>();
    CHECK(verdict.rfind("hang: " + call + " has ", 0) == 0);
    CHECK(contains(verdict, by == By::markers
                                ? "; it waits for endless_kernel, which is unfinished according to "
                                : "; it likely waits for endless_kernel, the oldest of "));
    CHECK(report.at("call").at("kernel") == "endless_kernel");
    CHECK(report.at("call").contains("likely") == (by == By::waits));
    CHECK(report.at("hang").contains("by_markers") == (by == By::markers));
    const Json& stuck = report.at("hang").at("calls").at(0);
    CHECK(stuck.at("kernel") == call);
    CHECK(stuck.at("nanoseconds").get<std::uint64_t>() >= 1'000'000'000U);
    CHECK(stuck.at("thread") == report.at("ended").at("pid"));
}

TEST_CASE("A wait for a kernel that never finishes is reported with the kernel, for every kind of wait") {
    for (const By by : {By::markers, By::waits}) {
        for (const auto& [how, call] : kWaits) {
            CAPTURE(how);
            const WatchedRun run(by == By::markers ? kAborting : joined(kAborting, {"--completion", "off"}),
                                 victim(how));
            CHECK(run.outcome.signal == SIGABRT);
            CHECK(run.outcome.out == "set\n");
            CHECK(contains(run.outcome.err, "warn: hang detected: " + call));
            CHECK(contains(run.outcome.err, "AOTI_DBG_ON_HANG=abort"));
            const Json report = run.report();
            check_names_the_kernel(report, call, by);
            CHECK(report.at("ended").at("signal") == "SIGABRT");
            const Lines unended = names_of(report.at("hang").at("unended"));
            // Markers know that the other stream's launch has finished. Without them the whole context may
            // wait for it.
            const bool has_other = how == "context" && by == By::waits;
            CHECK(unended == (has_other ? Lines{"endless_kernel", "later_kernel", "done_kernel"}
                                        : Lines{"endless_kernel", "later_kernel"}));
            CHECK(report.at("hang").at("calls").at(0).contains("asks") == contains(how, "query"));
            CHECK(report.at("hang").at("calls").at(0).at("thread_name") == "hang");
            const std::string callers = report.at("hang").at("calls").at(0).at("callers").dump();
            CHECK(callers.find("wait_for") < callers.find("\"main (hang+0x"));
            CHECK(contains(callers, "\"main (hang+0x"));
        }
    }
}

/// A program that continues once hang.json shows that its hang was reported.
class Resumed {
  public:
    explicit Resumed(const std::string& how)
        : run(kWatched, joined(victim(how), {(out() / "hang.json").string()}), "",
              {{"AOTI_DBG_OUT", out().string()}}) {}
    [[nodiscard]] bool has_report() const { return fs::exists(out() / "report.json"); }

  private:
    [[nodiscard]] fs::path out() const { return place_.path() / "out"; }
    TempFolder place_;

  public:
    WatchedRun run;
};

/// Checks for one message each way and no report. The program must behave as it does bare.
void check_it_goes_on(const std::string& how, const std::string& call) {
    const Resumed resumed(how);
    const Outcome bare = run_bare(joined(victim(how), {"/"}));
    CHECK(resumed.run.outcome.out == bare.out);
    CHECK(resumed.run.outcome.exit_code == 0);
    CHECK(bare.exit_code == 0);
    const std::string& said = resumed.run.outcome.err;
    CAPTURE(said);
    CHECK(contains(said, "hang detected: " + call));
    CHECK(said.find("hang detected:") == said.rfind("hang detected:"));
    CHECK_FALSE(resumed.has_report());
}

TEST_CASE("With completion markers an endless kernel is reported even if no call waits for it") {
    for (const char* how : {"sleep", "host"}) {
        CAPTURE(how);
        const WatchedRun run(kAborting, joined(victim(how), {"never"}));
        CHECK(run.outcome.signal == SIGABRT);
        CHECK(run.outcome.out == "set\n");
        CHECK(contains(run.outcome.err, "warn: hang detected: endless_kernel on stream 0x"));
        CHECK(contains(
            run.outcome.err,
            ", according to completion markers, and no call waits for it; 1 launch is queued behind"));
        const Json report = run.report();
        CAPTURE(report.dump(2));
        CHECK(report.at("class") == "hang");
        CHECK(contains(report.at("verdict").get<std::string>(),
                       "hang: endless_kernel has not finished for 1."));
        CHECK(report.at("call").at("kernel") == "endless_kernel");
        CHECK_FALSE(report.at("call").contains("likely"));
        CHECK(report.at("hang").at("calls").at(0).at("nobody_waits") == true);
        CHECK(names_of(report.at("hang").at("unended")) == Lines{"endless_kernel", "later_kernel"});
    }
    check_it_goes_on("sleep", "endless_kernel");
}

TEST_CASE("Of launches that no call waits for, the report names the one submitted first") {
    const WatchedRun run(kAborting, joined(victim("behind"), {"never"}));
    CHECK(run.outcome.signal == SIGABRT);
    const Json report = run.report();
    CHECK(contains(report.at("verdict").get<std::string>(), "hang: endless_kernel has not finished for 1."));
    CHECK(report.at("call").at("kernel") == "endless_kernel");
    CHECK(names_of(report.at("hang").at("unended")) == Lines{"endless_kernel"});
    CHECK(report.at("hang").at("calls").size() == 1);
}

TEST_CASE("A program that starts to poll late is reported by its query, not by the launch it polls for") {
    const WatchedRun run(kAborting, victim("late_query"));
    CHECK(run.outcome.signal == SIGABRT);
    CHECK_FALSE(contains(run.outcome.err, "no call waits"));
    check_names_the_kernel(run.report(), "cuStreamQuery", By::markers);
}

TEST_CASE("An abnormal exit after the launch has finished is not a hang") {
    const Resumed over("over");
    CHECK(over.run.outcome.exit_code == 3);
    CHECK(contains(over.run.outcome.err, "hang detected: endless_kernel"));
    CHECK_FALSE(over.has_report());
}

TEST_CASE(
    "Launches that finish late, wait while others finish, or failed are no hang; without markers no launch "
    "is") {
    for (const char* how : {"slow", "beside", "failed"}) {
        CAPTURE(how);
        const WatchedRun run({"--hang", "2", "--on-hang", "abort"}, victim(how));
        const Outcome bare = run_bare(victim(how));
        CHECK(run.outcome.out == bare.out);
        CHECK(run.outcome.exit_code == 0);
        CHECK(bare.exit_code == 0);
        CHECK_FALSE(contains(run.outcome.err, "hang detected"));
    }
    const WatchedRun unmarked(joined(kAborting, {"--completion", "off"}), joined(victim("sleep"), {"done"}),
                              "until [ -e \"$OUT/flight.ring\" ]; do sleep 0.1; done; sleep 2.5; touch done");
    CHECK(unmarked.outcome.exit_code == 0);
    CHECK_FALSE(contains(unmarked.outcome.err, "hang detected"));
}

TEST_CASE("The fingerprint of a hang depends on call and kernel, and not on the run") {
    const auto fingerprint = [](const std::string& how) {
        return WatchedRun(kAborting, victim(how)).report().at("fingerprint").get<std::string>();
    };
    CHECK(fingerprint("stream") == fingerprint("stream"));
    CHECK(fingerprint("stream") != fingerprint("context"));
}

TEST_CASE("A model call that does not return is reported with its run and its arguments' names") {
    for (const int number : {2, 8, 10, 18}) {
        CAPTURE(number);
        const WatchedRun run(kAborting, model_host({"--runs", "2", model_path("cpu")}), "",
                             {{"FAKE_TORCH_HANG_AT", std::to_string(number)}});
        CHECK(run.outcome.signal == SIGABRT);
        const Json report = run.report();
        CAPTURE(report.dump(2));
        const auto in_all = static_cast<std::size_t>(number - 1);
        CHECK(report.at("class") == "hang");
        CHECK(report.at("call").at("kernel") == kOneRun[in_all % kOneRun.size()]);
        CHECK(report.at("call").at("run") == in_all / kOneRun.size());
        CHECK(report.at("call").at("call") == in_all % kOneRun.size());
        CHECK_FALSE(report.at("call").contains("likely"));
        CHECK(report.at("hang").at("unended_count") == 0);
    }
}

TEST_CASE(
    "A program that idles, computes or makes progress does not hang and is not changed by the watchdog") {
    for (const char* how : {"idle", "busy", "steps"}) {
        CAPTURE(how);
        const WatchedRun run(kAborting, victim(how));
        const Outcome bare = run_bare(victim(how));
        CHECK(run.outcome.out == bare.out);
        CHECK(run.outcome.exit_code == bare.exit_code);
        CHECK(run.outcome.signal == bare.signal);
        CHECK(bare.exit_code == 0);
        CHECK_FALSE(contains(run.outcome.err, "hang detected"));
        CHECK_FALSE(fs::exists(run.out() / "hang.json"));
        CHECK_FALSE(run.has_report());
    }
}

TEST_CASE("A run that an exception unwound does not count as still running") {
    for (const char* where : {"near", "deep"}) {
        CAPTURE(where);
        const Lines program = model_host({"--throw", "--then-sleep", where, model_path("throwing")});
        const WatchedRun run(kAborting, program);
        const Outcome bare = run_bare(program);
        CHECK(contains(bare.out, "caught: "));
        CHECK(run.outcome.out == bare.out);
        CHECK(run.outcome.exit_code == 0);
        CHECK(bare.exit_code == 0);
        CHECK_FALSE(contains(run.outcome.err, "hang detected"));
        CHECK_FALSE(fs::exists(run.out() / "hang.json"));
    }
    // A later call that does hang is reported as before.
    const WatchedRun stuck(kAborting, model_host({"--throw", model_path("throwing")}), "",
                           {{"FAKE_TORCH_HANG_AT", std::to_string(kOneRun.size() + 2)}});
    CHECK(stuck.outcome.signal == SIGABRT);
    CHECK(stuck.report().at("class") == "hang");
    CHECK(stuck.report().at("call").at("kernel") == kOneRun.at(1));
}

TEST_CASE("A call that returns after all gets one message each way and no report, even during a capture") {
    for (const char* how : {"back", "capture"}) {
        CAPTURE(how);
        check_it_goes_on(how, "cuStreamSynchronize");
    }
}

TEST_CASE("Under report a hang is reported once, and the program stays hung until it is stopped") {
    const WatchedRun run(kWatched, victim("stream"),
                         "until [ -e \"$OUT/hang.json\" ]; do sleep 0.1; done; sleep 2; kill -TERM $run");
    CHECK(run.outcome.exit_code == 128 + SIGTERM);
    CHECK(run.outcome.err.find("warn: hang detected:") == run.outcome.err.rfind("warn: hang detected:"));
    check_names_the_kernel(run.report(), "cuStreamSynchronize", By::markers);
    CHECK(run.report().at("ended").at("signal") == "SIGTERM");
    // Only the process's own file has what the process itself knows.
    CHECK(run.hang(run.out()).at("calls").at(0).at("thread_name") == "hang");
}

TEST_CASE("A program that is stopped while it hangs has a report even without a watchdog") {
    for (const auto& [signal, number] : {std::pair{"TERM", SIGTERM}, {"HUP", SIGHUP}}) {
        CAPTURE(signal);
        const WatchedRun run({"--triage"}, victim("stream"),
                             when_stuck_in("cuStreamSynchronize") + "kill -" + signal + " $run");
        CHECK(run.outcome.exit_code == 128 + number);
        check_names_the_kernel(run.report(), "cuStreamSynchronize", By::waits);
        CHECK_FALSE(fs::exists(run.out() / "hang.json"));
    }
    const WatchedRun host({"--triage"}, model_host({model_path("cpu")}),
                          when_stuck_in("addmm") + "kill -TERM $run", {{"FAKE_TORCH_HANG_AT", "1"}});
    CHECK(host.report().at("class") == "hang");
    CHECK(host.report().at("call").at("kernel") == kOneRun.front());
}

TEST_CASE("Ctrl-C at a terminal of a hung program leaves the same report") {
    TempFolder folder;
    const fs::path out = folder.path() / "out";
    Variables env = {{"AOTI_DBG_OUT", out.string()}};
    // As in run_bare(), this preloads a sanitizer's runtime without the library.
    const std::string preloaded = preload_value();
    if (const std::size_t last = preloaded.rfind(':'); last != std::string::npos)
        env["LD_PRELOAD"] = preloaded.substr(0, last);
    OnTerminal run(joined({places::kTool, "run", "--triage", "--"}, victim("stream")), env,
                   folder.path().string());
    const auto is_stuck = [&out] {
        const Lines rows = rows_with(Preloaded::show(out), "cuStreamSynchronize");
        return !rows.empty() && ends_with(rows.back(), "did not end");
    };
    // A call counts once it has not returned for a second.
    for (int tries = 0; tries < 600 && !is_stuck(); ++tries)
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
    std::this_thread::sleep_for(std::chrono::milliseconds(1300));
    run.type("\x03");
    const Outcome outcome = run.end();
    CHECK(outcome.signal == SIGINT);
    CHECK(contains(outcome.err, "aoti-dbg: hang: cuStreamSynchronize has not returned"));
    check_names_the_kernel(Json::parse(read_text(out / "report.json")), "cuStreamSynchronize", By::waits);
}

TEST_CASE("Without --triage and --hang a stopped program gets no report") {
    const WatchedRun run({"--scope", "all"}, victim("stream"),
                         "until [ -e \"$OUT/flight.ring\" ]; do sleep 0.1; done; sleep 1.3; kill -TERM $run");
    CHECK(run.outcome.exit_code == 128 + SIGTERM);
    CHECK_FALSE(run.has_report());
}

TEST_CASE("A program that was stopped while it slept or made progress did not hang") {
    for (const char* how : {"idle", "steps"}) {
        CAPTURE(how);
        const WatchedRun run(
            {"--triage"}, joined(victim(how), {"100"}),
            "until [ -e \"$OUT/flight.ring\" ]; do sleep 0.1; done; sleep 1.3; kill -TERM $run");
        CHECK(run.outcome.exit_code == 128 + SIGTERM);
        CHECK(run.report().at("class") == "unknown");
    }
}

TEST_CASE("If a program does not end when stopped, its report exists while it still runs") {
    const WatchedRun run({"--triage"}, victim("deaf"),
                         when_stuck_in("cuStreamSynchronize") +
                             "kill -TERM $run; until [ -e \"$OUT/report.json\" ]; do sleep 0.1; done; "
                             "kill -0 $run && echo still there; \"$TOOL\" report \"$OUT\"; kill -USR1 $run");
    CHECK(run.outcome.exit_code == 128 + SIGUSR1);
    CHECK(contains(run.outcome.out, "still there\naoti-dbg: hang: cuStreamSynchronize has not returned"));
    check_names_the_kernel(run.report(), "cuStreamSynchronize", By::waits);
    CHECK(contains(run.report().at("notes").at(0).get<std::string>(),
                   "the program was still running some seconds after SIGTERM"));
    // The exit adds no report. The second one comes from `aoti-dbg report`.
    CHECK(Preloaded::files(run.out(), "report").size() == 4);
}

TEST_CASE("The path of a hang's report is printed at once, and again in the summary of --ci") {
    const WatchedRun run(
        {"--triage", "--ci", "--require", "none"}, victim("deaf"),
        when_stuck_in("cuStreamSynchronize") +
            "kill -TERM $run; until [ -e \"$OUT/report.json\" ]; do sleep 0.1; done; sleep 0.5; "
            "kill -USR1 $run");
    const std::string where = "report: " + (run.out() / "report.json").string();
    const std::size_t first = run.outcome.err.find(where);
    REQUIRE(first != std::string::npos);
    CHECK(run.outcome.err.find("0 findings; " + where, first + 1) != std::string::npos);
}

TEST_CASE("A forked child has a watchdog of its own") {
    const WatchedRun run(kAborting, victim("fork"));
    CHECK(run.outcome.exit_code == 0);
    CHECK(contains(run.outcome.out, "child: " + std::to_string(SIGABRT)));
    CHECK(contains(run.outcome.err, "hang detected: cuStreamSynchronize"));
    std::size_t hangs = 0;
    for (const auto& entry : fs::recursive_directory_iterator(run.out()))
        hangs += entry.path().filename() == "hang.json" ? 1 : 0;
    CHECK(hangs == 1);
}

TEST_CASE("A bare preload also watches for hangs, and its files suffice for the report") {
    const Preloaded run(victim("stream"),
                        {{"AOTI_DBG_HANG", "1"}, {"AOTI_DBG_ON_HANG", "abort"}, {"AOTI_DBG_LEVEL", "0"}});
    CHECK(run.outcome.signal == SIGABRT);
    CHECK(run.outcome.out == "set\n");
    const std::string printed = run_program({places::kTool, "report", run.out().string()}).out;
    CHECK(contains(printed, "aoti-dbg: hang: cuStreamSynchronize has not returned"));
    check_names_the_kernel(Json::parse(read_text(run.out() / "report.json")), "cuStreamSynchronize",
                           By::markers);
}

TEST_CASE("Without a ring there is no watchdog, and a message says so") {
    const WatchedRun run({"--hang", "1", "--on-hang", "abort", "--ring", "0"}, victim("idle"));
    CHECK(run.outcome.exit_code == 0);
    CHECK(contains(run.outcome.err, "AOTI_DBG_HANG needs the flight recorder ring"));
}

TEST_CASE("Files for CI systems have the hang too") {
    const WatchedRun run({"--hang", "1", "--on-hang", "abort", "--annotate", "github", "--junit", "junit.xml",
                          "--verdict-file", "verdict"},
                         victim("stream"));
    CHECK(contains(run.outcome.err, "::error title=aoti-dbg%3A hang::hang: cuStreamSynchronize"));
    CHECK(contains(read_text(run.folder() / "junit.xml"), "hang: cuStreamSynchronize has not returned"));
    const Json verdict = Json::parse(read_text(run.folder() / "verdict"));
    CHECK(verdict.at("class") == "hang");
    CHECK(verdict.at("kernel") == "endless_kernel");
}

}  // namespace
}  // namespace aoti_dbg::test::hang_test
