// What a process leaves when it ends abnormally, forks, execs or has no room to write. Above all, the level-3
// log must reach up to the call that killed it.
#include <sys/stat.h>

#include "tests/preload/preload_support.hpp"
#include "tests/support/catch.hpp"

namespace aoti_dbg::test::crash_test {
namespace {

namespace fs = std::filesystem;

const Lines kRunLog = log_of(kOneRun);

/// The log of a process that died inside its call `number`, counted from 1.
Lines log_until(std::size_t number) {
    const Lines whole = times(static_cast<int>(number / kOneRun.size()) + 1, kRunLog);
    return {whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(2 * number - 1)};
}

std::size_t whole_logs(const std::vector<fs::path>& paths) {
    return static_cast<std::size_t>(std::count_if(paths.begin(), paths.end(), [](const fs::path& path) {
        return lines_of(read_text(path)) == kRunLog;
    }));
}

/// The evidence files kept of the packages of a process that wrote to `out`.
Lines kept_files(const fs::path& out) {
    Lines names;
    for (const fs::path& folder : Preloaded::files(out / "evidence", ""))
        for (const fs::path& file : Preloaded::files(folder, ""))
            names.push_back(file.filename().string());
    return names;
}

TEST_CASE("A package's evidence is kept whole, once for all runners, and outlives package and process") {
    const TempFolder package;
    const fs::path original = fs::path(model_path("cpu")).parent_path();
    fs::copy(original, package.path() / "p");
    const std::string model = package.path() / "p" / "ccpu.wrapper.so";
    const Preloaded watched(model_host({"--two-runners", model}),
                            {{"FAKE_TORCH_DIE_AT", "20"}, {"FAKE_TORCH_DIE_BY", "9"}});
    CHECK(watched.outcome.signal == 9);
    fs::remove_all(package.path() / "p");
    REQUIRE(kept_files(watched.out()) == Lines{"ccpu.wrapper.cpp", "ccpu.wrapper.json", "cnarrow.kernel.cpp",
                                               "cwide.kernel.cpp", "library.json", "models.jsonl"});
    const fs::path folder = Preloaded::files(watched.out() / "evidence", "").front();
    for (const char* name : {"ccpu.wrapper.cpp", "ccpu.wrapper.json", "cwide.kernel.cpp"})
        CHECK(read_text(folder / name) == read_text(original / name));
}

TEST_CASE("Every loaded package is kept, even one loaded after the first call, and none with evidence off") {
    const auto kept_with = [](const Variables& variables) {
        const Preloaded watched(model_host({model_path("cpu"), "--then", model_path("other")}), variables);
        CHECK(watched.outcome.exit_code == 0);
        return Preloaded::files(watched.out() / "evidence", "").size();
    };
    CHECK(kept_with({}) == 2);
    CHECK(kept_with({{"AOTI_DBG_EVIDENCE", "off"}}) == 0);
    CHECK(kept_with({{"AOTI_DBG_RING", "0"}}) == 0);
    CHECK(kept_with({{"AOTI_DBG_LEVEL", "0"}}) == 0);
}

TEST_CASE("Where evidence cannot be kept the program runs, and one message says so") {
    const TempFolder folder;
    fs::create_directories(folder.path() / "out");
    write_text(folder.path() / "out" / "evidence", "a file");
    const Preloaded watched(model_host({model_path("cpu"), model_path("other")}),
                            {{"AOTI_DBG_OUT", (folder.path() / "out").string()}});
    CHECK(watched.outcome.exit_code == 0);
    CHECK(watched.log_lines() == times(2, kRunLog));
    const std::string& said = watched.outcome.err;
    CHECK(said.find("are not kept") != std::string::npos);
    CHECK(said.find("are not kept") == said.rfind("are not kept"));
}

TEST_CASE("After a death inside call N the log ends with the launch of N, and show marks it as unfinished") {
    for (const int signal : {9, 11, 6}) {
        for (const std::size_t number : {1, 2, 6, 7, 10, 12, 13, 14, 15, 33, 1000}) {
            CAPTURE(signal, number);
            const Preloaded watched(model_host({"--quiet", "--runs", "200", model_path("cpu")}),
                                    {{"FAKE_TORCH_DIE_AT", std::to_string(number)},
                                     {"FAKE_TORCH_DIE_BY", std::to_string(signal)}});
            CHECK(watched.outcome.signal == signal);
            CHECK(watched.log_lines() == log_until(number));
            const std::string shown = watched.show();
            const Lines rows = rows_with(shown, kOneRun[(number - 1) % kOneRun.size()]);
            REQUIRE_FALSE(rows.empty());
            CHECK(ends_with(rows.back(), "<-- did not end"));
            CHECK(ends_with(lines_of(shown).back(), "<-- did not end"));
            // The call and the run around it.
            CHECK(contains(shown, "2 did not end"));
        }
    }
}

TEST_CASE("Without a log file the ring alone identifies the last call") {
    const Preloaded watched(
        model_host({model_path("cpu")}),
        {{"AOTI_DBG_LOG", "/dev/null"}, {"FAKE_TORCH_DIE_AT", "5"}, {"FAKE_TORCH_DIE_BY", "9"}});
    const Lines rows = rows_with(watched.show(), "cpp_fused_doubles_3");
    REQUIRE(rows.size() == 1);
    CHECK(ends_with(rows[0], "<-- did not end"));
}

TEST_CASE("_exit inside a call and after the last one leaves a log without padding and the coverage line") {
    const Preloaded inside(model_host({"--runs", "9", model_path("cpu")}),
                           {{"FAKE_TORCH_DIE_AT", "17"}, {"FAKE_TORCH_DIE_BY", "0"}});
    CHECK(inside.outcome.exit_code == 7);
    CHECK(inside.log_lines() == log_until(17));
    CHECK(contains(inside.outcome.err, "1 model, 2 runs, 17 calls; 17 printed"));

    const Preloaded afterwards({victim_path("fork_victim"), "os_exit", model_path("cpu")});
    CHECK(afterwards.outcome.exit_code == 5);
    CHECK(afterwards.log_lines() == kRunLog);
    CHECK(contains(afterwards.outcome.err, "1 model, 1 run, 14 calls; 14 printed"));

    for (const Preloaded* watched : {&inside, &afterwards}) {
        const std::string text = read_text(watched->log());
        REQUIRE_FALSE(text.empty());
        CHECK_FALSE(contains(text, "\n\n"));
        CHECK(contains(watched->show(), "ended     normally"));
    }
}

TEST_CASE("Children that exit at once add no files and nothing to their parent's log and ring") {
    const Preloaded watched({victim_path("fork_victim"), "fork_while_running", model_path("cpu")});
    CHECK(watched.log_lines() == times(201, kRunLog));
    CHECK(Preloaded::files(watched.folder(), "log").size() == 1);
    CHECK(Preloaded::files(watched.out(), "flight").size() == 1);
    CHECK(contains(watched.show(), "runs      201\n"));
    CHECK(contains(watched.show(), "0 did not end"));
}

TEST_CASE(
    "A forked child that runs a model has its own log and ring, and the parent's have only its own calls") {
    struct Expected {
        const char* mode;
        int parent_runs;
        std::size_t children;
    };
    for (const Expected& expected :
         {Expected{"child_runs", 201, 8}, Expected{"fork_in_thread", 9, 4}, Expected{"vfork_exec", 2, 1}}) {
        if (!children_can(expected.mode)) continue;
        CAPTURE(expected.mode);
        const Preloaded watched({victim_path("fork_victim"), expected.mode, model_path("cpu")});
        CAPTURE(watched.outcome.err);
        CHECK(watched.log_lines().size() == times(expected.parent_runs, kRunLog).size());
        std::vector<fs::path> logs = Preloaded::files(watched.folder(), "log.");
        CHECK(logs.size() == expected.children);
        CHECK(whole_logs(logs) == expected.children);
        CHECK(Preloaded::files(watched.out(), "flight").size() == 1);
        CHECK(watched.rings_of_others().size() == expected.children);
        const std::string shown = Preloaded::show(watched.out() / "flight.ring");
        CHECK(contains(shown, "runs      " + std::to_string(expected.parent_runs) + "\n"));
        for (const fs::path& ring : watched.rings_of_others()) {
            CHECK(contains(Preloaded::show(ring), "runs      1\n"));
        }
    }
}

TEST_CASE("A process that execs another program leaves its log behind, and the new program writes its own") {
    const Preloaded watched({victim_path("exec_victim"), model_path("cpu")});
    CHECK(whole_logs(Preloaded::files(watched.folder(), "log")) == 2);
}

TEST_CASE("Output files are readable by their owner only") {
    const Preloaded watched(model_host({model_path("cpu")}));
    const auto mode = [](const fs::path& path) {
        struct stat info {};
        return stat(path.c_str(), &info) == 0 ? info.st_mode & 0777U : 0U;
    };
    CHECK(mode(watched.log()) == 0600U);
    CHECK(mode(watched.out()) == 0700U);
    CHECK(mode(watched.out() / "flight.ring") == 0600U);
}

TEST_CASE("Where nothing can be written the program continues, and one line says so") {
    const Lines argv = model_host({"--runs", "2", model_path("cpu")});
    const Outcome bare = run_program(argv);
    // Not even root can create a folder in /proc.
    const Outcome watched = run_preloaded(argv, {{"AOTI_DBG_LEVEL", "3"}, {"AOTI_DBG_LOG", "log"}},
                                          std::chrono::seconds(60), "/proc");
    CHECK(watched.out == bare.out);
    CHECK(watched.exit_code == 0);
    std::size_t warnings = 0;
    Lines log;
    for (const std::string& line : lines_of(watched.err)) {
        warnings += contains(line, " warn: ") ? 1 : 0;
        if (line[0] == '[') log.push_back(line);
    }
    CHECK(warnings == 2);  // one for the log, one for the ring
    CHECK(log == times(2, kRunLog));
}

TEST_CASE("A limit on file sizes ends no program, and the losses are reported") {
    const std::string command = victim_path("model_host") + " --quiet --runs 3000 " + model_path("cpu");
    for (const char* kilobytes : {"1", "8", "300", "1024"}) {
        CAPTURE(kilobytes);
        const Lines argv = {"/bin/bash", "-c", std::string("ulimit -f ") + kilobytes + "; exec " + command};
        const Outcome bare = run_program(argv);
        REQUIRE(bare.exit_code == 0);
        const Preloaded watched(argv);
        CAPTURE(watched.outcome.err);
        CHECK(watched.outcome.out == bare.out);
        CHECK(watched.outcome.exit_code == 0);
        CHECK(watched.outcome.signal == 0);
        CHECK(contains(watched.outcome.err, "file too large"));
    }
}

TEST_CASE("A full disk ends no program, and the losses are reported") {
    const Lines argv = model_host({"--quiet", "--runs", "3000", model_path("cpu")});
    const std::string command = argv[0] + " --quiet --runs 3000 " + model_path("cpu");
    const TempFolder disk;
    const std::string at = disk.path().string();
    const std::string mounted = "mount -t tmpfs -o size=SIZE none " + at;
    const auto inside = [&](const std::string& size, const std::string& what) {
        std::string mount = mounted;
        mount.replace(mount.find("SIZE"), 4, size);
        return Lines{"unshare", "-m", "/bin/sh", "-c", mount + " && exec " + what};
    };
    if (run_program(inside("64k", "/bin/true")).exit_code != 0) {
        WARN("skipped: no file system can be mounted here");
        return;
    }
    const Outcome bare = run_program(argv);
    for (const char* size : {"4k", "64k", "600k", "2m"}) {
        CAPTURE(size);
        const Preloaded watched(inside(size, command),
                                {{"AOTI_DBG_LOG", at + "/log"}, {"AOTI_DBG_OUT", at + "/out"}});
        CAPTURE(watched.outcome.err);
        CHECK(watched.outcome.out == bare.out);
        CHECK(watched.outcome.exit_code == 0);
        CHECK(contains(watched.outcome.err, "no space left on device"));
    }
}

/// The number before `what` in the closing line, or 0 if it is missing.
std::uint64_t reported(const std::string& err, const std::string& what) {
    const std::size_t line = err.rfind(" info: ");
    const std::size_t end = err.find(" " + what, line == std::string::npos ? err.size() : line);
    if (end == std::string::npos) return 0;
    return std::strtoull(err.c_str() + err.rfind(' ', end - 1) + 1, nullptr, 10);
}

TEST_CASE("If a log is cut short, each line is printed or lost, and the closing line has both numbers") {
    const std::string command = victim_path("model_host") + " --quiet --runs 900 " + model_path("cpu");
    const Lines argv = {"/bin/bash", "-c", "ulimit -f 200; exec " + command};
    SECTION("at level 3") {
        const Preloaded watched(argv, {{"AOTI_DBG_RING", "0"}});
        CAPTURE(watched.outcome.err);
        const std::size_t lines = watched.log_lines().size();
        CHECK(lines > 1000);
        CHECK(reported(watched.outcome.err, "lines lost") + lines == std::size_t{2} * 14 * 900);
        // A call counts as printed if its first line is.
        CHECK(reported(watched.outcome.err, "printed") == (lines + 1) / 2);
        CHECK(contains(watched.outcome.err, "The log ends here. Raise the file size limit"));
    }
    SECTION("at level 2, where events are lost too") {
        const Preloaded watched(argv, {{"AOTI_DBG_LEVEL", "2"}, {"AOTI_DBG_FORMAT", "compact"}});
        CAPTURE(watched.outcome.err);
        const std::uint64_t printed = reported(watched.outcome.err, "printed");
        CHECK(printed > 0);
        CHECK(printed < std::uint64_t{14} * 900);
        CHECK(reported(watched.outcome.err, "lines lost") > 0);
        CHECK(reported(watched.outcome.err, "events lost") > 0);
        CHECK(contains(watched.outcome.err, "No more events are recorded. Raise the file size limit"));
    }
}

TEST_CASE("A single lost line is reported in the singular") {
    const Preloaded watched(
        model_host({model_path("cpu")}),
        {{"AOTI_DBG_LOG", "/dev/full"}, {"AOTI_DBG_CALLS", "3"}, {"AOTI_DBG_SIDE", "after"}});
    CHECK(contains(watched.outcome.err, "; 1 line lost"));
    CHECK(reported(watched.outcome.err, "printed") == 0);
}

TEST_CASE("A log that accepts nothing loses its lines, and their number is reported") {
    const Preloaded watched(model_host({model_path("cpu")}), {{"AOTI_DBG_LOG", "/dev/full"}});
    CHECK(watched.outcome.exit_code == 0);
    CHECK(contains(watched.outcome.err, "28 lines lost"));
    CHECK_FALSE(contains(watched.outcome.err, " printed"));
}

}  // namespace
}  // namespace aoti_dbg::test::crash_test
