// Programs that reach the CUDA driver by every route, on the fake driver. They must not notice the library,
// and the library must not miss a launch. Other interposers are preloaded before and after it.
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "tests/preload/preload_support.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/places.hpp"

namespace aoti_dbg::test::driver_test {
namespace {

/// The kernels named in the log, once per launch.
Lines launched(const Preloaded& run) {
    Lines names;
    const std::string mark = "[ before_launch: ";
    for (const std::string& line : run.log_lines()) {
        if (const std::size_t at = line.find(mark); at != std::string::npos) {
            names.push_back(line.substr(at + mark.size(), line.size() - at - mark.size() - 2));
        }
    }
    return names;
}

long count(const Lines& names, const std::string& name) {
    return std::count(names.begin(), names.end(), name);
}

const Variables kAll = {{"AOTI_DBG_SCOPE", "all"}};

Variables preloading(const std::string& libraries) {
    Variables variables = kAll;
    variables["LD_PRELOAD"] = libraries;
    variables["AOTI_DBG_LEVEL"] = "3";
    return variables;
}

std::string interposer(const std::string& name) {
    return victim_path("libinterposer_" + name + ".so");
}

}  // namespace

TEST_CASE("A program on the driver prints and returns the same with the library, at any level") {
    for (const Lines& argv : std::vector<Lines>{{victim_path("driver_linked")},
                                                {victim_path("driver_dlopen")},
                                                {victim_path("driver_dlopen"), "ptsz"},
                                                {victim_path("runtime_road")},
                                                {victim_path("graph_capture")},
                                                {victim_path("procaddr_linked")},
                                                {victim_path("dlsym_semantics")}}) {
        const Outcome bare = run_bare(argv);
        REQUIRE(bare.exit_code == 0);
        for (const char* level : {"0", "3"}) {
            const Preloaded run(argv, {{"AOTI_DBG_LEVEL", level}, {"AOTI_DBG_SCOPE", "all"}});
            CAPTURE(argv, level, run.outcome.err);
            CHECK(run.outcome.out == bare.out);
            CHECK(run.outcome.exit_code == 0);
            CHECK(run.outcome.signal == 0);
        }
    }
}

TEST_CASE("The same launches are seen by linking, by dlsym and through cuGetProcAddress") {
    const Lines linked = launched(Preloaded({victim_path("driver_linked")}, kAll));
    const Lines looked_up = launched(Preloaded({victim_path("driver_dlopen")}, kAll));
    const Lines per_thread = launched(Preloaded({victim_path("driver_dlopen"), "ptsz"}, kAll));
    const Lines runtime = launched(Preloaded({victim_path("runtime_road")}, kAll));
    for (const Lines& names : {linked, looked_up, per_thread, runtime}) {
        CHECK(count(names, "add_kernel") >= 3);
        CHECK(count(names, "fill_kernel") >= 1);
    }
    CHECK(looked_up == per_thread);
}

TEST_CASE("A launch outside of any model is recorded, and printed only on request") {
    const Preloaded run({victim_path("driver_linked")});
    CHECK(launched(run).empty());
    CHECK(rows_with(run.show(), "add_kernel").size() >= 3);
    CHECK(run.outcome.err.find("outside the scope") != std::string::npos);
}

TEST_CASE("A launched graph is one record") {
    const Lines names = launched(Preloaded({victim_path("graph_capture")}, kAll));
    CHECK(count(names, "CUDA graph") >= 9);
}

TEST_CASE("A function of an unloaded module loses its old name") {
    // driver_linked launches a kernel of a library that it has unloaded, and the driver refuses that with and
    // without us.
    const Preloaded run({victim_path("driver_linked")}, kAll);
    CHECK(run.show().find("error 400") != std::string::npos);
}

TEST_CASE("With another library before our dlsym nothing changes, and a message says what may be missed") {
    for (const std::string& victim : Lines{"driver_dlopen", "runtime_road", "procaddr_linked"}) {
        const Lines argv{victim_path(victim)};
        const std::string theirs = interposer("dlsym");
        const Outcome alone = run_program(argv, {{"LD_PRELOAD", preload_value(theirs)}});
        const Outcome both = run_program(argv, preloading(preload_value(theirs) + ":" + preload_value()));
        CHECK(both.out == alone.out);
        CHECK(both.exit_code == alone.exit_code);
        CHECK(both.err.find("overrides the dlsym of libaoti_dbg.so") != std::string::npos);
    }
}

TEST_CASE("A library that interposes dlsym behind us still sees the lookups, and so do we") {
    const Lines argv{victim_path("runtime_road")};
    Variables variables = preloading(preload_value() + ":" + preload_value(interposer("dlsym")));
    variables["INTERPOSER_REPORT"] = "1";
    const Outcome both = run_program(argv, variables);
    CHECK(both.out == run_bare(argv).out);
    CHECK(both.err.find("interposer_dlsym: saw look-ups: 1") != std::string::npos);
    CHECK(both.err.find("[ before_launch: add_kernel ]") != std::string::npos);
}

TEST_CASE("A library that interposes cuGetProcAddress works before and behind us") {
    const std::string theirs = preload_value(interposer("procaddr"));
    for (const std::string& order : {theirs + ":" + preload_value(), preload_value() + ":" + theirs}) {
        for (const std::string& victim : Lines{"driver_dlopen", "runtime_road", "procaddr_linked"}) {
            CAPTURE(order, victim);
            Variables variables = preloading(order);
            variables["INTERPOSER_REPORT"] = "1";
            const Outcome alone =
                run_program({victim_path(victim)}, {{"LD_PRELOAD", theirs}, {"INTERPOSER_REPORT", "1"}});
            const Outcome both = run_program({victim_path(victim)}, variables);
            CHECK(both.exit_code == 0);
            CHECK(both.err.find(alone.err) != std::string::npos);  // it sees the same as without us
            const bool missed = both.err.find("before_launch") == std::string::npos;
            const bool said = both.err.find("also interposes") != std::string::npos;
            CHECK((!missed || said));
        }
    }
}

const std::string kNothingSeen = "no AOTInductor model was loaded and no kernel launch was intercepted";

TEST_CASE(
    "A program that launches nothing on a driver says so, and a child that records nothing changes nothing") {
    for (const Lines& child : {Lines{}, Lines{"/bin/true"}, Lines{victim_path("idle_parent")}}) {
        CAPTURE(child);
        const Preloaded watched(joined({victim_path("idle_parent")}, child));
        CHECK(watched.outcome.exit_code == 0);
        const std::size_t said = watched.outcome.err.find(kNothingSeen);
        CHECK(said != std::string::npos);
        CHECK(said == watched.outcome.err.rfind(kNothingSeen));
    }
}

TEST_CASE("A program that only starts others does not report that nothing was seen if one of them recorded") {
    const Lines program = joined({victim_path("idle_parent")}, model_host({model_path("cpu")}));
    const Variables variables = GENERATE(Variables{}, Variables{{"AOTI_DBG_RING", "0"}},
                                         Variables{{"AOTI_DBG_OUT", "out-%r/%q{HOME}"}});
    const Preloaded watched(program, variables);
    CAPTURE(watched.outcome.err);
    CHECK(watched.outcome.exit_code == 0);
    CHECK(contains(watched.outcome.err, "14 calls; 14 printed"));
    CHECK_FALSE(contains(watched.outcome.err, "warn: "));
}

TEST_CASE("An earlier run's output in the same directory does not hide that nothing was seen") {
    const TempFolder out;
    const Variables variables = {{"AOTI_DBG_OUT", out.path()}};
    const Lines idle = {victim_path("idle_parent"), "/bin/true"};
    CHECK(Preloaded(model_host({model_path("cpu")}), variables).outcome.exit_code == 0);
    std::this_thread::sleep_for(std::chrono::milliseconds(1100));  // times are compared in whole seconds
    CHECK(contains(Preloaded(idle, variables).outcome.err, kNothingSeen));
}

TEST_CASE("Under aoti-dbg run the command judges all processes, once") {
    const auto run = [](const Lines& program) {
        const TempFolder folder;
        const Lines command = {places::kTool, "run", "--log", "log", "--"};
        return run_bare(joined(command, program), {}, std::chrono::seconds(60), folder.path()).err;
    };
    const std::string idle = victim_path("idle_parent");
    CHECK_FALSE(contains(run(joined({idle}, model_host({model_path("cpu")}))), "warn: "));
    const std::string nothing = run({idle, idle});
    CHECK(contains(nothing, kNothingSeen));
    CHECK(nothing.find("warn: ") == nothing.rfind("warn: "));
}

TEST_CASE("_exit in a signal handler that interrupted an allocation still ends the program") {
    if (kSanitized) return;  // the sanitizers' allocators do not support it
    for (int i = 0; i < 40; ++i) {
        const Outcome outcome = run_preloaded({victim_path("exit_in_handler")}, {{"AOTI_DBG_LEVEL", "3"}},
                                              std::chrono::seconds(20));
        CAPTURE(i, outcome.err);
        REQUIRE_FALSE(outcome.timed_out);
        REQUIRE(outcome.exit_code == 3);
    }
}

TEST_CASE("On the driver a model's kernels have PyTorch's names, and an op's kernel is logged below the op") {
    const Lines argv = model_host({"--cuda", model_path("cuda")});
    const Outcome bare = run_program(argv);
    REQUIRE(bare.exit_code == 0);
    const Preloaded own(argv);
    CHECK(own.outcome.out == bare.out);
    const Lines names = launched(own);
    CHECK(count(names, "triton_poi_fused_relu_0") == 1);
    CHECK(count(names, "add_kernel_0") >= 1);
    CHECK(count(names, "add_kernel") == 0);
    const Preloaded all(argv, kAll);
    const Lines below = all.log_lines();
    CHECK(below.size() > own.log_lines().size());
    CHECK(std::any_of(below.begin(), below.end(),
                      [](const std::string& line) { return line.rfind("  [ before_launch: ", 0) == 0; }));
}

}  // namespace aoti_dbg::test::driver_test
