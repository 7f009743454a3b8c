// The window between a GPU fault and the moment the program can see it, as the driver of an H200 has it. No
// wait may return success, nothing waits without a fault, and the report has the fault.
#include <csignal>
#include <memory>
#include <nlohmann/json.hpp>

#include "tests/preload/preload_support.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/places.hpp"

namespace aoti_dbg::test::fault_window_test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr int kIllegalAddress = 700;
const Variables kSound = {{"FAKE_CUDA_FAULT_WINDOW", "80"}};
/// The kernels are launched in turn, and the eighth launch is a second_kernel.
const Variables kFaulty = {{"FAKE_CUDA_FAULT_WINDOW", "80"}, {"FAKE_CUDA_FAIL_AT", "8"}};

Variables with(Variables some, const Variables& more) {
    for (const auto& [name, value] : more)
        some[name] = value;
    return some;
}

Lines victim(const std::string& how) {
    return {victim_path("fault_window"), how};
}

/// `aoti-dbg run --triage FLAGS -- fault_window HOW`, with a folder of its own.
class Armed {
  public:
    Armed(const std::string& how, const Variables& variables, const Lines& flags = {}) {
        const Lines command = joined({places::kTool, "run", "--triage", "--scope", "all"}, flags);
        outcome = run_bare(joined(command, joined({"--"}, victim(how))),
                           with(variables, {{"AOTI_DBG_OUT", out().string()}}));
        CAPTURE(outcome.err);
        CHECK_FALSE(outcome.timed_out);
    }
    [[nodiscard]] fs::path out() const { return folder_.path() / "out"; }
    [[nodiscard]] bool has_report() const { return fs::exists(out() / "report.json"); }
    [[nodiscard]] bool has_dump() const { return fs::exists(out() / "gpu.core"); }
    [[nodiscard]] Json report() const {
        REQUIRE(has_report());
        return Json::parse(read_text(out() / "report.json"));
    }
    void check_names_the_kernel() const {
        const Json json = report();
        CAPTURE(json.dump(2));
        CHECK(contains(json.at("verdict").get<std::string>(), "illegal memory access in second_kernel"));
        CHECK(json.at("call").at("kernel") == "second_kernel");
        CHECK(json.at("device").at("launch") == 8);
        CHECK_FALSE(json.at("call").contains("likely"));
        CHECK(contains(outcome.err, "illegal memory access in second_kernel"));
    }

    Outcome outcome;

  private:
    TempFolder folder_;
};

/// Repeats the run until it does what is expected. The library gives the driver's thread and its debugger a
/// fixed time. On a busy machine the fake driver may need longer.
template <typename Matches>
std::unique_ptr<Armed> soon(Matches matches, const std::string& how, const Variables& variables,
                            const Lines& flags) {
    std::unique_ptr<Armed> run;
    for (int i = 0; i < 6; ++i) {
        run = std::make_unique<Armed>(how, variables, flags);
        if (matches(*run)) break;
    }
    return run;
}

/// Repeats a run that exits beside a fault. The library gives the fault a fixed time, and a busy machine may
/// need longer. Without that time no attempt would succeed.
std::unique_ptr<Armed> ended_beside_fault(const std::string& how, const std::string& on_fault) {
    // The error or the abort follows shortly after the dump.
    const Variables faulty = with(kFaulty, {{"FAKE_CUDA_FAULT_WINDOW", "20"}});
    std::unique_ptr<Armed> run;
    for (int i = 0; i < 6; ++i) {
        run = std::make_unique<Armed>(how, faulty, Lines{"--on-fault", on_fault});
        if (run->has_report() && (on_fault != "abort" || run->outcome.signal != 0)) break;
    }
    return run;
}

const Lines kQuestions = {"stream", "context", "event", "query", "copy"};
const Lines kEnds = {"exit", "_exit", "abandon"};

TEST_CASE("Every kind of wait for the device gets the error and not the earlier success") {
    for (const char* on_fault : {"continue", "raise"}) {
        for (const std::string& how : kQuestions) {
            CAPTURE(on_fault, how);
            const Armed run(how, kFaulty, {"--on-fault", on_fault});
            CHECK(run.outcome.out == "launched\n" + how + ": " + std::to_string(kIllegalAddress) + "\n");
            CHECK(run.outcome.out == run_bare(victim(how), kFaulty).out);
            CHECK(run.outcome.exit_code == 0);
            run.check_names_the_kernel();
            CHECK_FALSE(run.has_dump());
        }
    }
}

TEST_CASE("A program that sees the error before the driver has recorded the fault leaves the report") {
    const Variables early = with(kFaulty, {{"FAKE_CUDA_EARLY_ERROR", "1"}});
    for (const std::string& how : kQuestions) {
        CAPTURE(how);
        const Armed run(how, early);
        CHECK(run.outcome.out == "launched\n" + how + ": " + std::to_string(kIllegalAddress) + "\n");
        CHECK(run.outcome.exit_code == 0);
        run.check_names_the_kernel();
    }
}

TEST_CASE("A fault that crashes one of the driver's threads is reported as the original fault") {
    // This is longer than the library waits for the record once the program has the error.
    const Variables crashing = with(kFaulty, {{"FAKE_CUDA_EARLY_ERROR", "1"},
                                              {"FAKE_CUDA_DEBUGGER_CRASHES", "1"},
                                              {"FAKE_CUDA_FAULT_WINDOW", "2000"}});
    const Armed run("stream", crashing);
    CHECK(run.outcome.signal == SIGSEGV);
    const Json report = run.report();
    CAPTURE(report.dump(2));
    CHECK(report.at("failed").at("result") == kIllegalAddress);
    CHECK(report.at("class") == "kernel");
    const std::string verdict = report.at("verdict").get<std::string>();
    CHECK(contains(verdict, "illegal memory access (CUDA error 700), returned by cuStreamSynchronize"));
    CHECK(contains(verdict, "second_kernel"));
    CHECK(contains(verdict, "; the process then ended with SIGSEGV"));
}

/// The last launch is a store whose warp has ended, so no other launch waits for it.
const Variables kFaultyStore = {
    {"FAKE_CUDA_FAULT_WINDOW", "80"}, {"FAKE_CUDA_FAIL_AT", "12"}, {"FAKE_CUDA_NO_STANDSTILL", "1"}};

TEST_CASE("The program's last wait gets the error of its last launch, even if no launch waits for that") {
    for (const char* on_fault : {"continue", "raise"}) {
        for (const std::string& how : kQuestions) {
            CAPTURE(on_fault, how);
            const std::string error = how + ": " + std::to_string(kIllegalAddress);
            const auto run = soon([&](const Armed& tried) { return contains(tried.outcome.out, error); }, how,
                                  kFaultyStore, {"--on-fault", on_fault});
            CHECK(run->outcome.out == "launched\n" + error + "\n");
            CHECK(run->outcome.exit_code == 0);
            CHECK(contains(run->report().at("verdict").get<std::string>(),
                           "illegal memory access in third_kernel"));
        }
    }
    const auto aborted = soon([](const Armed& tried) { return tried.outcome.signal != 0; }, "stream",
                              kFaultyStore, {"--on-fault", "abort"});
    CHECK(aborted->outcome.signal == SIGABRT);
    CHECK(aborted->outcome.out == "launched\n");
}

TEST_CASE("Without a fault nothing looks for one, however often a program waits") {
    // The library inspects a wait that loses its processor for as long as a fault takes, so this retries.
    const Variables inline_device =
        with(kSound, {{"FAKE_CUDA_INLINE", "1"}, {"LD_PRELOAD", preload_value(places::kNoNaps)}});
    // At exit the library does wait if the program has just launched something, and no_naps aborts it for
    // that.
    const auto run = soon([](const Armed& tried) { return contains(tried.outcome.out, "failed: 0\n"); },
                          "often", inline_device, {});
    CHECK(contains(run->outcome.out, "failed: 0\n"));
}

TEST_CASE("A program that exits without a check leaves the report and keeps its own exit code") {
    for (const char* on_fault : {"continue", "raise"}) {
        for (const std::string& how : kEnds) {
            CAPTURE(on_fault, how);
            const auto run = ended_beside_fault(how, on_fault);
            CHECK(run->outcome.out == "launched\n");
            CHECK(run->outcome.exit_code == 0);
            run->check_names_the_kernel();
        }
    }
}

TEST_CASE("A program that exits while the driver gathers a full device's memory waits for its record") {
    // This is longer than the library waits for a record that no driver thread is writing.
    const Variables full = with(kFaulty, {{"FAKE_CUDA_FAULT_WINDOW", "20"}, {"FAKE_CUDA_GATHER", "6500"}});
    const auto run =
        soon([](const Armed& tried) { return tried.has_report(); }, "exit", full, {"--on-fault", "continue"});
    CHECK(run->outcome.exit_code == 0);
    run->check_names_the_kernel();
}

TEST_CASE("Under abort the driver ends the program, and no waiting call returns before that") {
    for (const std::string& how : kQuestions) {
        CAPTURE(how);
        const Armed run(how, kFaulty, {"--on-fault", "abort"});
        CHECK(run.outcome.out == "launched\n");
        CHECK(run.outcome.signal == SIGABRT);
        run.check_names_the_kernel();
        CHECK(run.report().at("ended").at("signal") == "SIGABRT");
        CHECK_FALSE(run.has_dump());
    }
}

TEST_CASE("Under abort a program cannot exit normally before the driver ends it") {
    for (const std::string& how : kEnds) {
        CAPTURE(how);
        const auto run = ended_beside_fault(how, "abort");
        CHECK(run->outcome.out == "launched\n");
        CHECK(run->outcome.signal == SIGABRT);
        run->check_names_the_kernel();
    }
}

TEST_CASE("In CI a fault aborts unless the options say otherwise") {
    CHECK(Armed("stream", kFaulty, {"--ci", "--require", "none"}).outcome.signal == SIGABRT);
    const Armed other("stream", kFaulty, {"--ci", "--require", "none", "--on-fault", "continue"});
    CHECK(other.outcome.signal == 0);
    CHECK(other.outcome.exit_code == 1);
}

TEST_CASE("Under raise launches fail as soon as the driver starts to record, and otherwise they do not") {
    const auto launched = [](const char* on_fault, const char* window) {
        const Armed run("launch", with(kFaulty, {{"FAKE_CUDA_FAULT_WINDOW", window}}),
                        {"--on-fault", on_fault});
        run.check_names_the_kernel();
        return run.outcome.out;
    };
    CHECK(launched("raise", "80") == "launched\ndebugger: 1, launch: 700\n");
    // The window is long enough that the launch always falls into it.
    CHECK(launched("continue", "2000") == "launched\ndebugger: 1, launch: 0\n");
}

TEST_CASE("A fault counts as a finding of a program that exited normally") {
    CHECK(Armed("stream", kFaulty, {"--error-exitcode", "3"}).outcome.exit_code == 3);
    CHECK(Armed("stream", kSound, {"--error-exitcode", "3"}).outcome.exit_code == 0);
}

TEST_CASE("The dump is removed once the report exists, unless the options keep it") {
    const Armed kept("stream", kFaulty, {"--keep-dump", "on"});
    CHECK(contains(Preloaded::show(kept.out() / "gpu.core"), "second_kernel"));
    kept.check_names_the_kernel();
    CHECK_FALSE(Armed("stream", kFaulty).has_dump());
}

TEST_CASE("Triage changes nothing for a program without a fault") {
    for (const std::string& how : joined(joined(kQuestions, kEnds), {"idle", "fork"})) {
        for (const char* on_fault : {"continue", "raise", "abort"}) {
            CAPTURE(how, on_fault);
            const Armed run(how, kSound, {"--on-fault", on_fault});
            const Outcome bare = run_bare(victim(how), kSound);
            CHECK(run.outcome.out == bare.out);
            CHECK(run.outcome.exit_code == bare.exit_code);
            CHECK(run.outcome.signal == bare.signal);
            CHECK_FALSE(run.has_report());
            CHECK_FALSE(run.has_dump());
        }
    }
}

TEST_CASE("At exit a program waits only for its most recent launches") {
    const Variables no_naps = with(kSound, {{"LD_PRELOAD", preload_value(places::kNoNaps)}});
    const Armed idle("idle", no_naps);
    CHECK(idle.outcome.exit_code == 0);
    // This shows that the interposer does catch a sleep.
    CHECK(Armed("exit", no_naps).outcome.signal == SIGABRT);
}

TEST_CASE("A forked child exits by itself beside its parent's fault, which is reported") {
    const Armed run("fork", kFaulty);
    CHECK(run.outcome.out == "launched\nchild: 1280\nstream: 700\n");
    CHECK(run.outcome.exit_code == 0);
    run.check_names_the_kernel();
}

TEST_CASE("A forked child does not wait for its parent's fault") {
    const Armed run("fork",
                    with(kFaulty, {{"LD_PRELOAD", preload_value(places::kNoNaps)}, {"NO_NAPS", "child"}}));
    CHECK(contains(run.outcome.out, "child: 1280\n"));
}

TEST_CASE("If the debugger was already loaded, it says nothing, and no call waits for it") {
    const std::string debugger = std::string(places::kFakes) + "/libcudadebugger.so.1";
    const std::string preloaded = preload_value(places::kNoNaps) + ":" + debugger;
    for (const char* on_fault : {"continue", "raise"}) {
        CAPTURE(on_fault);
        const Armed run("stream", with(kFaulty, {{"LD_PRELOAD", preloaded}}), {"--on-fault", on_fault});
        // The program gets the driver's own result.
        CHECK(run.outcome.out == "launched\nstream: 0\n");
        CHECK(run.outcome.exit_code == 0);
    }
}

TEST_CASE("The report describes a store and a trap from the dump as such") {
    const auto report = [](const char* kind) {
        return Armed("stream", with(kFaulty, {{"FAKE_CUDA_FAULT_KIND", kind}})).report();
    };
    // Four launches have that name, and nothing identifies the one that faulted.
    const Json store = report("store");
    CHECK(store.at("call").at("kernel") == "second_kernel");
    CHECK(store.at("call").at("likely") == true);
    CHECK(contains(store.at("verdict").get<std::string>(), "illegal memory access in second_kernel"));
    CHECK_FALSE(store.at("device").contains("launch"));
    CHECK_FALSE(store.at("device").contains("block"));
    // The dump has the number of the launch behind it.
    const Json late = report("late_store");
    CHECK(late.at("call").at("kernel") == "second_kernel");
    CHECK(late.at("call").at("seq") == report("load").at("call").at("seq"));
    CHECK(late.at("device").at("later_launch") == 9);
    CHECK_FALSE(late.at("device").contains("launch"));
    const Json trap = report("trap");
    CHECK(contains(trap.at("verdict").get<std::string>(), "in second_kernel"));
    CHECK(contains(trap.at("verdict").get<std::string>(), "trap"));
    CHECK(trap.at("device").at("error") == 719);
    CHECK(trap.at("device").at("launch") == 8);
    CHECK_FALSE(trap.at("call").contains("likely"));
}

}  // namespace
}  // namespace aoti_dbg::test::fault_window_test
