// What lies between a fault on the GPU and the moment at which the program can know of it, as a driver of an
// H200 has it: nobody is told that all is well, nobody waits without a fault, and the fault is in the report.
#include <csignal>
#include <memory>
#include <nlohmann/json.hpp>

#include "tests/preload/preload_support.hpp"
#include "tests/support/catch.hpp"

namespace aoti_dbg::test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr int kIllegalAddress = 700;
const Variables kSound = {{"FAKE_CUDA_FAULT_WINDOW", "80"}};
/// Of the kernels that are launched in turn the eighth is a second_kernel.
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
        const Lines command = joined({AOTI_DBG_TOOL, "run", "--triage", "--scope", "all"}, flags);
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
        const Json told = report();
        CAPTURE(told.dump(2));
        CHECK(contains(told.at("verdict").get<std::string>(), "illegal memory access in second_kernel"));
        CHECK(told.at("call").at("kernel") == "second_kernel");
        CHECK(told.at("device").at("launch") == 8);
        CHECK_FALSE(told.at("call").contains("likely"));
        CHECK(contains(outcome.err, "illegal memory access in second_kernel"));
    }

    Outcome outcome;

  private:
    TempFolder folder_;
};

/// Runs it until it does what it should: what the library gives the driver's thread to show, and the driver
/// to load its debugger, is a time, and on a busy machine the software driver may take longer.
template <typename Wanted>
std::unique_ptr<Armed> soon(Wanted is_requested, const std::string& how, const Variables& variables,
                            const Lines& flags) {
    std::unique_ptr<Armed> run;
    for (int i = 0; i < 6; ++i) {
        run = std::make_unique<Armed>(how, variables, flags);
        if (is_requested(*run)) break;
    }
    return run;
}

/// What the library gives a program that ends for the fault to show is a time. On a busy machine the software
/// device may take longer, so there are some tries; without that time none of them would do.
std::unique_ptr<Armed> ended_beside_fault(const std::string& how, const std::string& on_fault) {
    // The error, or the abort, follows soon upon the dump.
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

TEST_CASE("Whoever waits for the device gets the error, in whatever way, and not the success of before it") {
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

TEST_CASE("A program that is told of the error before the driver has recorded the fault leaves the report") {
    const Variables early = with(kFaulty, {{"FAKE_CUDA_EARLY_ERROR", "1"}});
    for (const std::string& how : kQuestions) {
        CAPTURE(how);
        const Armed run(how, early);
        CHECK(run.outcome.out == "launched\n" + how + ": " + std::to_string(kIllegalAddress) + "\n");
        CHECK(run.outcome.exit_code == 0);
        run.check_names_the_kernel();
    }
}

TEST_CASE("A fault over which a thread of the driver's falls is told as the fault that it is") {
    // Later than the library waits for the record of an error that the program has.
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

/// The last launch is a store whose warp has ended: nobody waits for it.
const Variables kFaultyStore = {
    {"FAKE_CUDA_FAULT_WINDOW", "80"}, {"FAKE_CUDA_FAIL_AT", "12"}, {"FAKE_CUDA_NO_STANDSTILL", "1"}};

TEST_CASE("The last wait of a program gets the error of its last launch, even if nobody waits for that") {
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

TEST_CASE("Where all is well nobody looks for a fault, however often a program waits") {
    // A wait that is kept from its processor for as long as a fault takes is looked at: there are some tries.
    const Variables inline_device =
        with(kSound, {{"FAKE_CUDA_INLINE", "1"}, {"LD_PRELOAD", preload_value(AOTI_DBG_NO_NAPS)}});
    // At its end it does wait, if it has launched something just now, and for that it is aborted.
    const auto run = soon([](const Armed& tried) { return contains(tried.outcome.out, "failed: 0\n"); },
                          "often", inline_device, {});
    CHECK(contains(run->outcome.out, "failed: 0\n"));
}

TEST_CASE("A program that ends without asking leaves the report all the same, and its own exit code") {
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

TEST_CASE("A program that ends while the driver gathers what a full device holds waits for its record") {
    // Longer than a record is waited for of which nobody is at work.
    const Variables full = with(kFaulty, {{"FAKE_CUDA_FAULT_WINDOW", "20"}, {"FAKE_CUDA_GATHER", "6500"}});
    const auto run =
        soon([](const Armed& tried) { return tried.has_report(); }, "exit", full, {"--on-fault", "continue"});
    CHECK(run->outcome.exit_code == 0);
    run->check_names_the_kernel();
}

TEST_CASE("Under abort the driver ends the program, and no call that waits comes back before") {
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

TEST_CASE("Under abort a program does not end well before the driver has ended it") {
    for (const std::string& how : kEnds) {
        CAPTURE(how);
        const auto run = ended_beside_fault(how, "abort");
        CHECK(run->outcome.out == "launched\n");
        CHECK(run->outcome.signal == SIGABRT);
        run->check_names_the_kernel();
    }
}

TEST_CASE("In CI a fault aborts, unless it is said otherwise") {
    CHECK(Armed("stream", kFaulty, {"--ci", "--require", "none"}).outcome.signal == SIGABRT);
    const Armed other("stream", kFaulty, {"--ci", "--require", "none", "--on-fault", "continue"});
    CHECK(other.outcome.signal == 0);
    CHECK(other.outcome.exit_code == 1);
}

TEST_CASE("Launches fail under raise as soon as the driver has begun to record, and not otherwise") {
    const auto launched = [](const char* on_fault, const char* window) {
        const Armed run("launch", with(kFaulty, {{"FAKE_CUDA_FAULT_WINDOW", window}}),
                        {"--on-fault", on_fault});
        run.check_names_the_kernel();
        return run.outcome.out;
    };
    CHECK(launched("raise", "80") == "launched\ndebugger: 1, launch: 700\n");
    // A window in which the launch is for certain.
    CHECK(launched("continue", "2000") == "launched\ndebugger: 1, launch: 0\n");
}

TEST_CASE("A fault counts as a finding of a program that ended well") {
    CHECK(Armed("stream", kFaulty, {"--error-exitcode", "3"}).outcome.exit_code == 3);
    CHECK(Armed("stream", kSound, {"--error-exitcode", "3"}).outcome.exit_code == 0);
}

TEST_CASE("The dump goes when the report has been made, unless somebody wants it") {
    const Armed kept("stream", kFaulty, {"--keep-dump", "on"});
    CHECK(contains(Preloaded::show(kept.out() / "gpu.core"), "second_kernel"));
    kept.check_names_the_kernel();
    CHECK_FALSE(Armed("stream", kFaulty).has_dump());
}

TEST_CASE("A program without a fault notices nothing of being armed") {
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

TEST_CASE("At its end a program waits only for what it has launched just now") {
    const Variables no_naps = with(kSound, {{"LD_PRELOAD", preload_value(AOTI_DBG_NO_NAPS)}});
    const Armed idle("idle", no_naps);
    CHECK(idle.outcome.exit_code == 0);
    // And whoever sleeps is seen by it.
    CHECK(Armed("exit", no_naps).outcome.signal == SIGABRT);
}

TEST_CASE("A fork's child ends by itself beside its parent's fault, which is told of") {
    const Armed run("fork", kFaulty);
    CHECK(run.outcome.out == "launched\nchild: 1280\nstream: 700\n");
    CHECK(run.outcome.exit_code == 0);
    run.check_names_the_kernel();
}

TEST_CASE("A fork's child does not wait for a fault of its parent's") {
    const Armed run("fork",
                    with(kFaulty, {{"LD_PRELOAD", preload_value(AOTI_DBG_NO_NAPS)}, {"NO_NAPS", "child"}}));
    CHECK(contains(run.outcome.out, "child: 1280\n"));
}

TEST_CASE("Where somebody has loaded the debugger before, it says nothing, and no call waits for it") {
    const std::string debugger = std::string(AOTI_DBG_FAKES) + "/libcudadebugger.so.1";
    const std::string preloaded = preload_value(AOTI_DBG_NO_NAPS) + ":" + debugger;
    for (const char* on_fault : {"continue", "raise"}) {
        CAPTURE(on_fault);
        const Armed run("stream", with(kFaulty, {{"LD_PRELOAD", preloaded}}), {"--on-fault", on_fault});
        // What the driver says.
        CHECK(run.outcome.out == "launched\nstream: 0\n");
        CHECK(run.outcome.exit_code == 0);
    }
}

TEST_CASE("What the dump shows of a store, or of a trap, is told as such") {
    const auto report = [](const char* kind) {
        return Armed("stream", with(kFaulty, {{"FAKE_CUDA_FAULT_KIND", kind}})).report();
    };
    // Four launches have that name, and nothing says which it was.
    const Json store = report("store");
    CHECK(store.at("call").at("kernel") == "second_kernel");
    CHECK(store.at("call").at("likely") == true);
    CHECK(contains(store.at("verdict").get<std::string>(), "illegal memory access in second_kernel"));
    CHECK_FALSE(store.at("device").contains("launch"));
    CHECK_FALSE(store.at("device").contains("block"));
    // Its number is that of the one behind it.
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
}  // namespace aoti_dbg::test
