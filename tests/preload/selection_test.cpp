// The options decide what is printed and kept: by variable, configuration file and command line, in one
// process and in a process tree. The reference is the list of calls that the fake model makes.
#include <iterator>
#include <random>

#include "tests/preload/preload_support.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/places.hpp"

namespace fs = std::filesystem;

namespace aoti_dbg::test::selection_test {
namespace {

const Lines kRunLog = log_of(kOneRun);

/// The log of `count` calls of one run, from number `first` on.
Lines log_of_calls(std::size_t first, std::size_t count) {
    const auto begin = kOneRun.begin() + static_cast<std::ptrdiff_t>(first);
    return log_of(Lines(begin, begin + static_cast<std::ptrdiff_t>(count)));
}

Lines log_with(const Variables& variables, int runs = 1) {
    return Preloaded(model_host({"--runs", std::to_string(runs), model_path("cpu")}), variables).log_lines();
}

/// "run:call" of each of `show`'s rows with that name.
Lines call_numbers(const std::string& shown, const std::string& name) {
    Lines numbers;
    for (const std::string& row : rows_with(shown, name)) {
        std::istringstream words(row);
        const Lines columns{std::istream_iterator<std::string>(words), {}};
        // seq, time before the end and its unit, thread, run, call
        numbers.push_back(columns.at(4) + ":" + columns.at(5));
    }
    return numbers;
}

TEST_CASE("Globs select kernels by the name that PyTorch prints and by that of the shim function") {
    CHECK(log_with({{"AOTI_DBG_KERNELS", "cpp_fused_*,!*_1*"}}) ==
          log_of({"cpp_fused_relu_0", "cpp_fused_mixed_2", "cpp_fused_doubles_3", "cpp_fused_cat_200"}));
    CHECK(log_with({{"AOTI_DBG_KERNELS", "aoti_torch_cpu_sort*"}}) ==
          log_of({"at::_ops::sort_stable::call"}));
    CHECK(log_with({{"AOTI_DBG_KERNELS", "no such kernel"}}).empty());
}

TEST_CASE("Our patterns win over PyTorch's filter, which wins over the default") {
    const Variables filter = {{"AOT_INDUCTOR_FILTERED_KERNELS_TO_PRINT", "cpp_fused_relu_0"}};
    CHECK(log_with(filter) == log_of({"cpp_fused_relu_0"}));
    Variables both = filter;
    both["AOTI_DBG_KERNELS"] = "cpp_fused_mul_*";
    CHECK(log_with(both) == log_of({"cpp_fused_mul_1"}));
}

TEST_CASE("A window of runs has whole runs, and a window of calls the same calls of each run") {
    CHECK(log_with({{"AOTI_DBG_RUNS", "2"}}, 5) == kRunLog);
    CHECK(log_with({{"AOTI_DBG_RUNS", "1::2"}}, 7) == times(3, kRunLog));
    CHECK(log_with({{"AOTI_DBG_CALLS", "2:5"}}, 3) == times(3, log_of_calls(2, 3)));
    CHECK(log_with({{"AOTI_DBG_CALLS", "13"}, {"AOTI_DBG_RUNS", ":2"}}, 3) == times(2, log_of_calls(13, 1)));
    CHECK(log_with({{"AOTI_DBG_CALLS", "14:"}}, 3).empty());
}

TEST_CASE("Calls count from 0 in every run, and a window takes the numbers that show prints") {
    const Lines argv = model_host({"--runs", "3", model_path("cpu")});
    CHECK(call_numbers(Preloaded(argv).show(), "cpp_fused_mixed_2") == Lines{"0:3", "1:3", "2:3"});
    // Unselected calls count too.
    const Preloaded watched(argv, {{"AOTI_DBG_KERNELS", "cpp_fused_mixed_2"}});
    CHECK(call_numbers(watched.show(), "cpp_fused_mixed_2") == Lines{"0:3", "1:3", "2:3"});
    CHECK(contains(watched.outcome.err, "42 calls; 3 printed; 39 not selected"));
}

TEST_CASE("Runs are counted over all models and threads of a process") {
    const Preloaded watched(model_host({"--runs", "2", model_path("cpu"), model_path("other")}),
                            {{"AOTI_DBG_RUNS", "1:3"}});
    CHECK(watched.log_lines() == times(2, kRunLog));
    const Preloaded threads(model_host({"--threads", "4", "--runs", "5", model_path("cpu")}),
                            {{"AOTI_DBG_RUNS", "10:15"}});
    CHECK(threads.log_lines().size() == times(5, kRunLog).size());
}

TEST_CASE("If one side alone is printed, the call is still recorded") {
    for (const std::string side : {"before", "after"}) {
        const Preloaded watched(model_host({model_path("cpu")}), {{"AOTI_DBG_SIDE", side}});
        Lines expected;
        for (const std::string& name : kOneRun)
            expected.push_back(side == "before" ? before(name) : after(name));
        CHECK(watched.log_lines() == expected);
        CHECK(contains(watched.outcome.err, "14 printed"));
        CHECK(rows_with(watched.show(), "cpp_fused_relu_0").size() == 1);
    }
}

TEST_CASE("Unselected calls stay out of the flight ring, which keeps its room for the selected ones") {
    const Preloaded watched(model_host({"--runs", "50", model_path("cpu")}),
                            {{"AOTI_DBG_RUNS", "7"}, {"AOTI_DBG_KERNELS", "cpp_fused_mul_*"}});
    const std::string shown = watched.show();
    CHECK(rows_with(shown, "cpp_fused_mul_1").size() == 1);
    CHECK(rows_with(shown, "cpp_fused_relu_0").empty());
    CHECK(lines_of(shown).size() < 12);
    CHECK(contains(watched.outcome.err, "50 runs, 28 calls; 1 printed; 27 not selected; 48 runs skipped"));
}

TEST_CASE("Kernels follow their op: its window applies to them, and leaving out the op leaves them out") {
    const Lines argv = model_host({"--runs", "2", model_path("cpu")});
    const Preloaded everything(argv, {{"AOTI_DBG_SCOPE", "all"}});
    const Preloaded window(argv, {{"AOTI_DBG_SCOPE", "all"}, {"AOTI_DBG_CALLS", ":"}});
    CHECK(window.log_lines() == everything.log_lines());
    CHECK(log_with({{"AOTI_DBG_SCOPE", "all"}, {"AOTI_DBG_CALLS", "0"}}, 2).front() == kRunLog.front());
}

/// One option as variable, flag and key of the file.
struct Spelling {
    const char* variable;
    const char* flag;
    const char* value;
    const char* json;  // the file's one key and value
};

TEST_CASE("Variable, configuration file and flag mean the same") {
    for (const Spelling& spelling : {
             Spelling{"AOTI_DBG_LEVEL", "--level", "0", R"("level": 0)"},
             Spelling{"AOTI_DBG_LEVEL", "--level", "names", R"("level": ["names"])"},
             Spelling{"AOTI_DBG_KERNELS", "--kernels", "cpp_*,!*_1", R"("kernels": ["cpp_*", "!*_1"])"},
             Spelling{"AOT_INDUCTOR_FILTERED_KERNELS_TO_PRINT", "--filter", "cpp_fused_relu_0",
                      R"("filter": "cpp_fused_relu_0")"},
             Spelling{"AOTI_DBG_RUNS", "--runs", "1:", R"("runs": "1:")"},
             Spelling{"AOTI_DBG_CALLS", "--calls", "4", R"("calls": 4)"},
             Spelling{"AOTI_DBG_SIDE", "--side", "after", R"("side": "after")"},
             Spelling{"AOTI_DBG_SCOPE", "--scope", "all", R"("scope": "all")"},
             Spelling{"AOTI_DBG_RING", "--ring", "0", R"("ring": 0)"},
             Spelling{"AOTI_DBG_PROCESSES", "--processes", "!model_*", R"("processes": "!model_*")"},
         }) {
        CAPTURE(spelling.variable, spelling.value);
        const Lines program = model_host({"--runs", "3", model_path("cpu")});
        const bool levels = std::string(spelling.variable) == "AOTI_DBG_LEVEL";
        const std::string level = levels ? "" : "3";

        Variables variables = {{"AOTI_DBG_LEVEL", level}};
        variables[spelling.variable] = spelling.value;
        const Preloaded by_variable(program, variables);

        const TempFolder folder;
        const std::string file = folder.path() / "aoti dbg.json";
        write_text(file, std::string("{") + spelling.json + "}");
        const Preloaded by_file(program, {{"AOTI_DBG_LEVEL", level}, {"AOTI_DBG_CONFIG", file}});

        Lines command = {places::kTool, "run", spelling.flag, spelling.value, "--"};
        command.insert(command.end(), program.begin(), program.end());
        const std::string log = folder.path() / "log";
        Variables outputs = {{"AOTI_DBG_LOG", log}, {"AOTI_DBG_OUT", (folder.path() / "out").string()}};
        if (!levels) outputs["AOTI_DBG_LEVEL"] = level;
        const Outcome by_flag = run_bare(command, outputs);

        CHECK(by_file.log_lines() == by_variable.log_lines());
        CHECK(lines_of(read_text(log)) == by_variable.log_lines());
        CHECK(by_file.outcome.out == by_variable.outcome.out);
        CHECK(by_flag.out == by_variable.outcome.out);
        CHECK(fs::exists(by_file.out()) == fs::exists(by_variable.out()));
        CHECK(fs::exists(folder.path() / "out") == fs::exists(by_variable.out()));
    }
}

TEST_CASE("A rule of the file applies to its kernels, and the environment overrides rules and file") {
    const TempFolder folder;
    const std::string file = folder.path() / "rules.json";
    write_text(file, R"({"level": 0, "out": "elsewhere",
                         "rules": [{"kernels": "cpp_fused_relu_0", "level": 3, "side": "before"},
                                   {"kernels": ["cpp_fused_*", "!*_1"], "level": "names", "runs": 1}]})");
    const Variables with_file = {{"AOTI_DBG_CONFIG", file}, {"AOTI_DBG_LEVEL", ""}};
    const Lines first_run = {before("cpp_fused_relu_0")};
    const Lines second_run = joined(first_run, log_of({"cpp_fused_mixed_2", "cpp_fused_doubles_3",
                                                       "cpp_fused_cat_200", "cpp_fused_cat_1000"}));
    CHECK(log_with(with_file, 3) == joined(joined(first_run, second_run), first_run));
    Variables environment_too = with_file;
    environment_too["AOTI_DBG_SIDE"] = "after";
    environment_too["AOTI_DBG_KERNELS"] = "cpp_fused_relu_0";
    CHECK(log_with(environment_too, 2) == times(2, {after("cpp_fused_relu_0")}));
}

TEST_CASE("A misspelled option is reported once, by the started process, and stops nothing") {
    const Lines argv = {victim_path("fork_victim"), "vfork_exec", model_path("cpu")};
    const Preloaded watched(argv, {{"AOTI_DBG_SIDE", "befor"}, {"AOTI_DBG_KERNEL", "x"}});
    CHECK(watched.outcome.exit_code == run_program(argv).exit_code);
    for (const std::string word : {"Did you mean \"before\"?", "Did you mean AOTI_DBG_KERNELS?"}) {
        const std::size_t place = watched.outcome.err.find(word);
        CAPTURE(watched.outcome.err, word);
        CHECK(place != std::string::npos);
        CHECK(watched.outcome.err.find(word, place + 1) == std::string::npos);
    }
}

TEST_CASE("Under the command a misspelled option is reported once for all processes, whichever has it") {
    const Lines program = {"env",        "AOTI_DBG_SIDE=befor", "env", victim_path("fork_victim"),
                           "vfork_exec", model_path("cpu")};
    Lines command = {places::kTool, "run",       "--out", "/dev/null/none", "--ring", "0",
                     "--log",       "/dev/null", "--"};
    command.insert(command.end(), program.begin(), program.end());
    const Outcome outcome = run_bare(command);
    const std::string word = "Did you mean \"before\"?";
    CAPTURE(outcome.err);
    const std::size_t place = outcome.err.find(word);
    CHECK(place != std::string::npos);
    CHECK(outcome.err.find(word, place + 1) == std::string::npos);
}

TEST_CASE("An unselected op passes its call number on to the kernels that it launches") {
#ifdef AOTI_DBG_HAS_FAKE_CUDA
    std::size_t seen = 0;
    for (std::size_t number = 0; number < kOneRun.size(); ++number) {
        const auto kernels_in = [number](const std::string& scope) {
            const Variables variables = {{"AOTI_DBG_SCOPE", scope},
                                         {"AOTI_DBG_KERNELS", "fake_library_*"},
                                         {"AOTI_DBG_CALLS", std::to_string(number)}};
            const Preloaded watched(model_host({"--cuda", model_path("cuda")}), variables);
            return rows_with(watched.show(), "fake_library_kernel").size();
        };
        CAPTURE(number);
        CHECK(kernels_in("model") == kernels_in("all"));
        seen += kernels_in("model");
    }
    CHECK(seen > 0);
#endif
}

TEST_CASE("In a process tree, the first process's folder has one for each other process that takes part") {
    if (!children_can("child_runs")) return;
    const Preloaded watched({victim_path("fork_victim"), "child_runs", model_path("cpu")}, {{"RANK", "3"}});
    CHECK(Preloaded::files(watched.out(), "flight").size() == 1);
    CHECK(Preloaded::files(watched.out(), "rank3-fork_victim-").size() == 8);
    CHECK(watched.rings_of_others().size() == 8);
}

TEST_CASE("With processes=main children are ignored, and with a pattern only matching ones take part") {
    for (const std::string mode : {"child_runs", "fork_in_thread", "vfork_exec"}) {
        if (!children_can(mode)) continue;
        CAPTURE(mode);
        const Lines argv = {victim_path("fork_victim"), mode, model_path("cpu")};
        const Preloaded main_only(argv, {{"AOTI_DBG_PROCESSES", "main"}});
        CHECK(main_only.outcome.out == run_program(argv).out);
        CHECK_FALSE(main_only.log_lines().empty());
        CHECK(Preloaded::files(main_only.folder(), "log.").empty());
        // There is no folder of another process.
        CHECK(Preloaded::files(main_only.out(), "") ==
              std::vector<fs::path>{main_only.out() / "evidence", main_only.out() / "flight.ring"});
    }
    const Lines argv = model_host({model_path("cpu")});
    CHECK(Preloaded(argv, {{"AOTI_DBG_PROCESSES", "model_h?st"}}).log_lines() == kRunLog);
    CHECK(Preloaded(argv, {{"AOTI_DBG_PROCESSES", "*ccpu.wrapper.so"}}).log_lines() == kRunLog);
    CHECK(Preloaded(argv, {{"AOTI_DBG_PROCESSES", "rank1"}, {"RANK", "1"}}).log_lines() == kRunLog);
    for (const std::string others : {"python*", "*,!model_*", "*,!*/ccpu*", "rank2"}) {
        CAPTURE(others);
        const Preloaded left_out(argv, {{"AOTI_DBG_PROCESSES", others}, {"RANK", "1"}});
        CHECK(left_out.log_lines().empty());
        CHECK_FALSE(fs::exists(left_out.out()));
        CHECK(left_out.outcome.err.empty());
    }
}

TEST_CASE("The command reports what the library saw, and --require turns too little into a failure") {
    const TempFolder folder;
    const auto run = [&folder](Lines arguments, const Lines& program) {
        arguments.insert(arguments.begin(), {places::kTool, "run"});
        arguments.emplace_back("--");
        arguments.insert(arguments.end(), program.begin(), program.end());
        return run_bare(arguments, {}, std::chrono::seconds(60), folder.path());
    };
    const Lines model = model_host({model_path("cpu")});
    CHECK(run({"--require", "model"}, model).exit_code == 0);
    CHECK(run({"--require", "launch"}, model).exit_code == 0);
    CHECK(run({"--require", "launch", "--level", "0"}, model).exit_code == 123);
    const Outcome no_run = run({"--require", "launch"}, model_host({"--runs", "0", model_path("cpu")}));
    CHECK(no_run.exit_code == 123);
    CHECK(contains(no_run.err, "1 model loaded, but no call was intercepted"));
    const Outcome excluded = run({"--processes", "pyhton*"}, model);
    CHECK(excluded.exit_code == 0);
    CHECK(contains(excluded.err, "AOTI_DBG_PROCESSES excludes every process"));
    CHECK(run({"--processes", "pyhton*", "--ci"}, model).exit_code == 123);
    CHECK(run({"--processes", "pyhton*", "--require", "library"}, model).exit_code == 0);
    const Outcome main_only = run({"--processes", "main", "--ci"},
                                  {"/bin/sh", "-c", model.front() + " " + model.back() + "; exit 0"});
    CHECK(main_only.exit_code == 123);
    CHECK(contains(main_only.err, "2 programs loaded libaoti_dbg.so, 1 took part, but no model loaded"));
    CHECK(contains(main_only.err, "AOTI_DBG_PROCESSES"));
    const Outcome none = run({"--require", "model"}, {"/bin/true"});
    CHECK(none.exit_code == 123);
    CHECK(contains(none.err, "--require model"));
    CHECK(run({"--require", "none"}, {"/bin/true"}).exit_code == 0);
    if (!children_can("child_runs")) return;
    // The first process forked them, so their folders are below its own, which the command has named.
    const Outcome tree = run({}, {victim_path("fork_victim"), "child_runs", model_path("cpu")});
    CHECK(tree.exit_code == 0);
    CHECK(Preloaded::files(folder.path() / "aoti_dbg/latest", "fork_victim-").size() == 8);
}

/// A set of options with many wrong ones.
Variables random_options(std::mt19937& random) {
    const auto one_of = [&random](const Lines& values) { return values[random() % values.size()]; };
    const std::vector<std::pair<std::string, Lines>> all = {
        {"AOTI_DBG_LEVEL", {"0", "1", "2", "3", "names", "stats,files", "7", "nmaes", ""}},
        {"AOT_INDUCTOR_DEBUG_INTERMEDIATE_VALUE_PRINTER", {"0", "3", "x"}},
        {"AOT_INDUCTOR_FILTERED_KERNELS_TO_PRINT", {"cpp_fused_relu_0", ",", "<"}},
        {"AOTI_DBG_KERNELS", {"*", "cpp_*", "!*", "[", "*a*b*c*", "aoti_torch_*,!*sort*", "\x01\xff"}},
        {"AOTI_DBG_RUNS", {"0", ":1", "1:", "::2", "-1", "a", "99999999999999999999", "::0"}},
        {"AOTI_DBG_CALLS", {"3", ":5", "2::3", "::", "3:1"}},
        {"AOTI_DBG_SIDE", {"before", "after", "both", "left"}},
        {"AOTI_DBG_SCOPE", {"model", "all", "some"}},
        {"AOTI_DBG_PROCESSES", {"main", "all", "model_host", "!*", "nobody"}},
        {"AOTI_DBG_RING", {"0", "1", "7", "65536", "-4"}},
        {"AOTI_DBG_OUT", {"out-%p", "deep/er/%t", "/proc/no", "/dev/null", "%q{HOME}%q{"}},
        {"AOTI_DBG_LOG", {"stderr", "log-%p", "/dev/null", "/dev/full", "/proc/no", "/"}},
        {"AOTI_DBG_CONFIG", {"a.json", "b.json", "c.json", "missing.json", "/dev/zero", "/"}},
        {"AOTI_DBG_NO_SUCH", {"1"}},
    };
    Variables chosen;
    for (const auto& [variable, values] : all) {
        if (random() % 3 == 0) chosen[variable] = one_of(values);
    }
    return chosen;
}

TEST_CASE("A thousand random sets of options change nothing in what a program does") {
    const TempFolder folder;
    write_text(folder.path() / "a.json", R"({"level": 3, "rules": [{"kernels": "cpp_*", "side": "after"}]})");
    write_text(folder.path() / "b.json", R"({"level": "names", "runs": [], "rules": {}, "levle": 1)");
    write_text(folder.path() / "c.json", R"({"level": 9, "kernels": [1, null], "out": 3, "log": "stdout?"})");
    const Lines argv = model_host({"--runs", "3", "--throw", "--error", model_path("cpu")});
    const Outcome bare = run_bare(argv);
    REQUIRE(bare.exit_code == 0);
    const unsigned seed = 20261121;
    std::mt19937 random(seed);
    for (int set = 0; set < (kSanitized ? 100 : 1000); ++set) {
        const Variables variables = random_options(random);
        const Outcome watched = run_preloaded(argv, variables, std::chrono::seconds(60), folder.path());
        if (watched.out == bare.out && watched.exit_code == bare.exit_code && watched.signal == 0) continue;
        std::string settings;
        for (const auto& [variable, value] : variables)
            settings.append(variable).append("=").append(value).append("\n");
        CAPTURE(seed, set, settings, watched.err, watched.exit_code, watched.signal);
        CHECK(watched.out == bare.out);
        FAIL("the program noticed");
    }
    // The folder of the programs has only what was requested.
    for (const fs::directory_entry& entry : fs::directory_iterator(folder.path())) {
        const std::string name = entry.path().filename();
        CAPTURE(name);
        const bool expected = name == "aoti_dbg" || name == "deep" || name.rfind("out-", 0) == 0 ||
                              name.rfind("log-", 0) == 0 || ends_with(name, ".json") ||
                              name.rfind("stdout?", 0) == 0 || contains(name, "%q{");
        CHECK(expected);
    }
}

}  // namespace
}  // namespace aoti_dbg::test::selection_test
