// `aoti-dbg run`: its messages about the run, --require, the tally, paths, odd names and odd environments.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <sstream>

#include "tests/support/places.hpp"
#include "tests/unit/cli_installation.hpp"

namespace aoti_dbg::test::cli_run_test {

namespace fs = std::filesystem;

namespace {

using Arguments = std::vector<std::string>;

const Variables kModelInTrue = {{"STAND_IN_MODEL", "true"}};
const Variables kLaunchInTrue = {{"STAND_IN_LAUNCH", "true"}};
const Arguments kShell = {"--", "/bin/sh", "-c"};

Arguments operator+(Arguments one, const Arguments& other) {
    one.insert(one.end(), other.begin(), other.end());
    return one;
}

std::size_t lines_in(const std::string& text) {
    return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

/// The outcome of a program in a folder named `name`, below an installation.
Outcome run_in(const Installation& installation, const std::string& name, const Arguments& arguments,
               const Variables& env = {}) {
    const fs::path place = installation.folder.path() / name;
    fs::create_directories(place);
    return run_program(Arguments{installation.tool(), "run"} + arguments, env, std::chrono::seconds(60),
                       place);
}

}  // namespace

TEST_CASE("A run in which nothing loaded the library gets one line about it and keeps its exit code") {
    const Installation installation;
    write_text(installation.library(), "no library at all");
    const Outcome outcome = installation.run(kShell + Arguments{"exit 3"});
    CHECK(outcome.exit_code == 3);
    CHECK(contains(outcome.err, "warn: nothing was recorded: no process loaded libaoti_dbg.so. Check that"));
}

TEST_CASE("If a signal ended the program at once, run does not guess why the library is missing") {
    const Installation installation;
    write_text(installation.library(), "no library at all");
    const Outcome outcome = installation.run(kShell + Arguments{"kill -TERM $$"});
    CHECK(outcome.signal == SIGTERM);
    CHECK(contains(outcome.err,
                   "nothing was recorded: no process loaded libaoti_dbg.so. A signal ended the program"));
    CHECK_FALSE(contains(outcome.err, "clears the environment"));
}

TEST_CASE("A run that loaded the library or never started gets no extra message") {
    const Installation installation;
    CHECK(installation.run({"--", "true"}).err.empty());
    CHECK(installation.run({"--require", "none", "--", "true"}).err.empty());
    CHECK(installation.run({"--", "env", "-i", "true"}).err.empty());
    const Outcome missing = installation.run({"--require", "model", "--", "/no/such/program"});
    CHECK(missing.exit_code == 127);
    CHECK(lines_in(missing.err) == 1);
}

TEST_CASE("A requirement that is met changes nothing") {
    const Installation installation;
    CHECK(installation.run({"--require", "model", "--", "true"}, kModelInTrue).exit_code == 0);
    CHECK(installation.run({"--require=model", "--", "true"}, kModelInTrue).err.empty());
    CHECK(installation.run({"--require", "launch", "--", "true"}, kLaunchInTrue).exit_code == 0);
    CHECK(installation.run({"--require", "launch", "--", "true"}, kLaunchInTrue).err.empty());
    const Outcome failed = installation.run(
        Arguments{"--require", "model"} + kShell + Arguments{"true; exit 3"}, {{"STAND_IN_MODEL", "sh"}});
    CHECK(failed.exit_code == 3);
    CHECK(failed.err.empty());
}

TEST_CASE("A requirement that is not met is one line, and fails a program that exited normally") {
    const Installation installation;
    const std::string required = GENERATE("model", "launch");
    const Outcome outcome = installation.run({"--require", required, "--", "echo", "its own"});
    CHECK(outcome.exit_code == 123);
    CHECK(outcome.out == "its own\n");
    CHECK(lines_in(outcome.err) == 1);
    CHECK(contains(outcome.err, "error AD3009: --require " + required +
                                    " is not met: 1 program loaded "
                                    "libaoti_dbg.so, but no model loaded"));
    CHECK(contains(outcome.err, "The exit code is 123 instead of 0."));
}

TEST_CASE("A program that failed keeps its own exit code, and the unmet requirement is reported") {
    const Installation installation;
    const Arguments required = Arguments{"--require", "model"} + kShell;
    const Outcome failed = installation.run(required + Arguments{"exit 3"});
    CHECK(failed.exit_code == 3);
    CHECK(contains(failed.err, "--require model is not met"));
    const Outcome killed = installation.run(required + Arguments{"kill -9 $$"});
    CHECK(killed.signal == SIGKILL);
    CHECK(contains(killed.err, "--require model is not met"));
    CHECK(contains(killed.err, "The program's own exit code or signal stays."));
}

TEST_CASE("An unmet requirement says how far the run got") {
    const Installation installation;
    const auto said = [&](const char* required, const Variables& env) {
        return installation.run({"--require", required, "--", "true"}, env).err;
    };
    CHECK(contains(said("launch", {{"STAND_IN_ASIDE", "true"}}), "but none took part"));
    CHECK(contains(said("launch", kModelInTrue), "1 model loaded, but no call was intercepted"));
    CHECK(contains(said("model", kLaunchInTrue), "no model loaded, although calls were intercepted"));
}

TEST_CASE("A wrong requirement starts nothing and names the nearest word") {
    const Outcome outcome = Installation().run({"--require", "modle", "--", "echo", "started"});
    CHECK(outcome.exit_code == 125);
    CHECK(outcome.out.empty());
    CHECK(contains(outcome.err,
                   "--require: expected library, model, launch or none, got \"modle\". Did you mean "
                   "\"model\"?\n"));
}

TEST_CASE("A folder is refused as a JUnit XML file, and nothing is started") {
    const Installation installation;
    for (const char* folder : {"/tmp", "results/"}) {
        const Outcome outcome = installation.run({"--junit", folder, "--", "echo", "started"});
        CHECK(outcome.exit_code == 125);
        CHECK(outcome.out.empty());
        CHECK(contains(outcome.err, "expected a file, got the directory \"" + std::string(folder) + "\"."));
    }
}

TEST_CASE("A JUnit XML file that cannot be created is refused before anything is started") {
    const Installation installation;
    for (const char* file : {"/dev/null/results.xml", "/dev/null/more/results.xml"}) {
        const Outcome outcome = installation.run({"--junit", file, "--", "echo", "started"});
        CHECK(outcome.exit_code == 125);
        CHECK(outcome.out.empty());
        CHECK(contains(
            outcome.err,
            "aoti-dbg run: error AD3001: cannot use /dev/null: not a directory. Set --junit to a file "));
    }
}

TEST_CASE("A verdict file without an option for reports gets a warning") {
    const Installation installation;
    const Outcome outcome = installation.run({"--verdict-file", "verdict.jsonl", "--", "echo", "started"});
    CHECK(outcome.exit_code == 0);
    CHECK(outcome.out == "started\n");
    CHECK(
        contains(outcome.err,
                 "no verdict will be written to verdict.jsonl: no option asks for a report. Add --triage."));
    CHECK_FALSE(
        contains(installation.run({"--triage", "--verdict-file", "v", "--", "true"}).err, "no verdict"));
}

TEST_CASE("A model in a child counts, and one behind a cleared environment does not") {
    const Installation installation;
    const Arguments required = {"--require", "model"};
    CHECK(installation.run(required + kShell + Arguments{"/bin/true; exit 0"}, kModelInTrue).exit_code == 0);
    const Outcome lost = installation.run(required + Arguments{"--", "env", "-i", "true"}, kModelInTrue);
    CHECK(lost.exit_code == 123);
    CHECK(contains(lost.err, "clears the environment"));
}

TEST_CASE("A program that execs itself counts each time") {
    const Outcome outcome = Installation().run(
        Arguments{"--require", "model"} + kShell +
        Arguments{"if [ $0 = aaaa ]; then exit 0; fi; exec /bin/sh -c \"$1\" ${0}a \"$1\"", "a",
                  "if [ $0 = aaaa ]; then exit 0; fi; exec /bin/sh -c \"$1\" ${0}a \"$1\""});
    CHECK(outcome.exit_code == 123);
    CHECK(contains(outcome.err, "4 programs loaded libaoti_dbg.so"));
}

TEST_CASE("The tally has the first process and its time, and cannot be truncated or extended") {
    const Outcome outcome = Installation().run(
        kShell + Arguments{"echo $$; od -A n -t d4 -j 8 -N 4 $AOTI_DBG_TALLY; od -A n -t d8 -j 16 -N 8 "
                           "$AOTI_DBG_TALLY; truncate -s 0 $AOTI_DBG_TALLY 2> /dev/null || echo sealed"});
    std::istringstream words(outcome.out);
    int shell = 0;
    int start = -1;
    std::int64_t nanoseconds = 0;
    std::string sealed;
    words >> shell >> start >> nanoseconds >> sealed;
    CHECK(start == shell);
    // After the year 2020, whatever the clock is.
    CHECK(nanoseconds > INT64_C(1577836800) * 1000000000);
    CHECK(sealed == "sealed");
}

TEST_CASE("Without a tally the program still runs, and only a requirement gets a message") {
#ifdef __SANITIZE_THREAD__
    return;  // its runtime writes files of its own, which the limit makes fatal
#endif
    const Installation installation;
    // No file may have a byte, so the tally page cannot be created. The messages go to a pipe.
    const std::string limited = "(ulimit -f 0; '" + installation.tool() +
                                "' run $0 -- /bin/sh -c 'exit $1' sh $1; "
                                "echo \"exit $?\") 2>&1 | cat";
    const auto said = [&](const std::string& flag, const std::string& exit_code) {
        return run_program({"/bin/sh", "-c", limited, flag, exit_code}).out;
    };
    CHECK(said("--require=none", "0") == "exit 0\n");
    const std::string unmet = said("--require=model", "0");
    CHECK(contains(unmet, "--require model is not met: cannot count what the processes recorded"));
    CHECK(contains(unmet, "exit 123\n"));
}

TEST_CASE("The program inherits exactly the caller's descriptors, open or closed") {
    const Installation installation;
    const std::string closing = GENERATE("", "0<&-", "1>&-", "2>&-", "0<&- 1>&- 2>&-", "5</dev/null");
    CAPTURE(closing);
    const auto descriptors = [&](const std::string& command) {
        const fs::path list = installation.folder.path() / "list";
        const std::string program = "ls /proc/$$/fd > list; exit 4";
        const Outcome outcome =
            run_program({"setsid", "--wait", "/bin/sh", "-c",
                         "exec " + closing + "; exec " + command + " \"$@\"", "sh", "/bin/sh", "-c", program},
                        {}, std::chrono::seconds(60), installation.folder.path());
        CHECK(outcome.exit_code == 4);
        CHECK(outcome.err.empty());
        std::string text = read_text(list);
        fs::remove(list);
        return text;
    };
    const std::string bare = descriptors("env");
    CHECK_FALSE(bare.empty());
    CHECK(descriptors("'" + installation.tool() + "' run --") == bare);
}

TEST_CASE("A child that outlives the program does not keep run waiting") {
    const Outcome outcome = Installation().run(kShell + Arguments{"sleep 1000 > /dev/null 2>&1 & exit 6"});
    CHECK(outcome.exit_code == 6);
    CHECK_FALSE(outcome.timed_out);
    CHECK(outcome.err.empty());
}

TEST_CASE("SIGKILL of the command also ends its program, but not a process that the program left behind") {
    const Installation installation;
    const fs::path place = installation.folder.path() / "place";
    fs::create_directories(place);
    // The program kills the command and then waits. If it survived, it would still write.
    const Outcome outcome =
        run_in(installation, "place",
               kShell + Arguments{"(setsid sh -c 'echo > up; sleep 2; echo left > left' > left.log 2>&1 &) ; "
                                  "until test -e up; do sleep 0.05; done; "
                                  "kill -KILL $PPID; sleep 1; echo survived > survived"});
    CHECK(outcome.signal == SIGKILL);
    for (int tries = 0; tries < 600 && !fs::exists(place / "left"); ++tries)
        usleep(100'000);
    CHECK(fs::exists(place / "left"));
    CHECK_FALSE(fs::exists(place / "survived"));
}

TEST_CASE("As the first process of a container, run reaps all orphans and keeps its child's status") {
    const Installation installation;
    const std::string orphans = "for i in 1 2 3; do (sh -c 'exit 5' &) ; done; sleep 0.3; ";
    const std::string zombies = "grep -l 'State:.Z' /proc/[0-9]*/status; exit 7";
    const Arguments program = {installation.tool(), "run", "--", "/bin/sh", "-c", orphans + zombies};
    const Arguments alone = {"unshare", "-p", "-f", "--mount-proc"};
    if (run_program(alone + Arguments{"true"}).exit_code != 0) {
        WARN("skipped: there can be no namespace of processes here");
        return;
    }
    const Outcome outcome = run_program(alone + program);
    CHECK(outcome.exit_code == 7);
    CHECK(outcome.out.empty());
}

TEST_CASE("An installation below a path that LD_PRELOAD cannot carry works") {
    const std::string name = GENERATE("with a blank", "with:colon", "$LIB", "all of: them,\n$ORIGIN");
    const Installation installation(".", name);
    const Outcome outcome = installation.run({"--require", "model", "--", "true"}, kModelInTrue);
    CHECK(outcome.exit_code == 0);
    CHECK(outcome.err.empty());
    const std::string preload = installation.variable("LD_PRELOAD");
    CHECK(preload.rfind("/proc/", 0) == 0);
    CHECK(preload.find_first_of(": $") == std::string::npos);
}

TEST_CASE("Other preloaded libraries stay behind a library that is named by its descriptor") {
    const Installation installation(".", "a b");
    const std::string other = installation.folder.path() / "other.so";
    fs::copy_file(places::kStandIn, other);
    const std::string preload =
        installation.variable("LD_PRELOAD", {}, {{"LD_PRELOAD", preload_value(other)}});
    CHECK(contains(preload, "/proc/"));
    CHECK(preload.substr(preload.size() - other.size() - 1) == ":" + other);
}

TEST_CASE("A newline in the path of the installation needs no workaround") {
    const Installation installation("../lib", "a\nb");
    CHECK(installation.variable("LD_PRELOAD") == installation.library("../lib"));
}

TEST_CASE("Spaces and newlines in the program and its arguments stay as they are") {
    const Installation installation;
    const fs::path program = installation.folder.path() / "a program:\nof mine";
    fs::copy_file("/usr/bin/printf", program);
    const Outcome outcome = installation.run({"--", program, "<%s>", " a  b ", "c\nd", "", "$x", "--log"});
    CHECK(outcome.out == "< a  b ><c\nd><><$x><--log>");
    CHECK(outcome.exit_code == 0);
    CHECK(outcome.err.empty());
}

TEST_CASE("An installation that was moved finds its library") {
    const Installation installation("../lib");
    const fs::path elsewhere = installation.folder.path() / "else where";
    fs::create_directories(elsewhere);
    fs::rename(installation.folder.path() / "bin", elsewhere / "bin");
    fs::rename(installation.folder.path() / "lib", elsewhere / "lib");
    // A link to the command is not a copy of it: the library lies beside the link's target.
    const fs::path link = installation.folder.path() / "link";
    fs::create_symlink(elsewhere / "bin" / "aoti-dbg", link);
    for (const std::string& tool : {(elsewhere / "bin" / "aoti-dbg").string(), link.string()}) {
        const Outcome outcome = run_program({tool, "run", "--require", "model", "--", "true"}, kModelInTrue);
        CHECK(outcome.exit_code == 0);
        CHECK(outcome.err.empty());
    }
}

TEST_CASE("An empty environment is enough for run and for the program") {
    const Installation installation;
    const Outcome outcome = run_program({"env", "-i", installation.tool(), "run", "--", "printenv"});
    CHECK(outcome.exit_code == 0);
    CHECK(outcome.err.empty());
    CHECK(contains(outcome.out, "AOTI_DBG_DEFAULT_LEVEL=3\n"));
    CHECK(contains(outcome.out, "AOTI_DBG_TALLY=/proc/"));
    // The environment has only our variables. A shell in between would have added some.
    std::istringstream lines(outcome.out);
    for (std::string line; std::getline(lines, line);) {
        CHECK((line.rfind("AOTI_DBG_", 0) == 0 || line.rfind("LD_PRELOAD=", 0) == 0));
    }
}

TEST_CASE("Relative paths become absolute, from a flag and from the environment") {
    const Installation installation;
    const std::string here = fs::canonical(installation.folder.path());
    CHECK(installation.variable("AOTI_DBG_OUT") == here + "/aoti_dbg/%t-%p");
    CHECK(installation.variable("AOTI_DBG_OUT", {}, {{"AOTI_DBG_OUT", " "}}) == here + "/aoti_dbg/%t-%p");
    CHECK(installation.variable("AOTI_DBG_OUT", {"--out", "a b/%p"}) == here + "/a b/%p");
    CHECK(installation.variable("AOTI_DBG_OUT", {}, {{"AOTI_DBG_OUT", " ../x"}}) == here + "/../x");
    CHECK(installation.variable("AOTI_DBG_OUT", {}, {{"AOTI_DBG_OUT", "/x/%p"}}) == "/x/%p");
    CHECK(installation.variable("AOTI_DBG_LOG", {"--log=x"}, {{"AOTI_DBG_LOG", "/y"}}) == here + "/x");
    CHECK(installation.variable("AOTI_DBG_LOG") == "unset");
    CHECK(installation.variable("AOTI_DBG_LOG", {"--log", "STDERR"}) == "STDERR");
    CHECK(installation.variable("AOTI_DBG_LOG", {}, {{"AOTI_DBG_LOG", "stdout"}}) == "stdout");
}

TEST_CASE("A pattern that starts with a variable is absolute if the variable is") {
    const Installation installation;
    const Variables env = {{"PLACE", "/tmp"}, {"WORD", "w"}, {"AOTI_DBG_LOG", "%q{PLACE}/x"}};
    CHECK(installation.variable("AOTI_DBG_LOG", {}, env) == "%q{PLACE}/x");
    CHECK(installation.variable("AOTI_DBG_OUT", {"--out", "%q{WORD}/x"}, env) ==
          fs::canonical(installation.folder.path()).string() + "/%q{WORD}/x");
}

TEST_CASE("The path of a configuration file becomes absolute, and so do the paths in it") {
    const Installation installation;
    const std::string here = fs::canonical(installation.folder.path());
    const Variables env = {{"AOTI_DBG_CONFIG", "100%p.json"}};
    write_text(installation.folder.path() / "100%p.json", R"({"out": "out-%p", "log": "names.log"})");
    CHECK(installation.variable("AOTI_DBG_CONFIG", {}, env) == here + "/100%p.json");
    CHECK(installation.variable("AOTI_DBG_OUT", {}, env) == here + "/out-%p");
    CHECK(installation.variable("AOTI_DBG_LOG", {}, env) == here + "/names.log");
}

TEST_CASE("Files of known findings get absolute paths, and single entries stay as they are") {
    const Installation installation;
    const std::string here = fs::canonical(installation.folder.path());
    write_text(installation.folder.path() / "known.txt", "nan in a\n");
    CHECK(installation.variable("AOTI_DBG_SUPPRESS", {"--suppress", "nan in b - buf0, ./known.txt"}) ==
          "nan in b - buf0," + here + "/./known.txt");
}

TEST_CASE("The command's own default does not override the configuration file's level") {
    const Installation installation;
    write_text(installation.folder.path() / "level.json", R"({"level": 0})");
    write_text(installation.folder.path() / "rules.json", R"({"rules": [{"kernels": "a", "level": 3}]})");
    write_text(installation.folder.path() / "kernels.json", R"({"kernels": "a"})");
    for (const char* file : {"level.json", "rules.json", "kernels.json"}) {
        CHECK(installation.variable("AOTI_DBG_LEVEL", {"--config", file}) == "unset");
        CHECK(installation.variable("AOTI_DBG_DEFAULT_LEVEL", {"--config", file}) == "3");
    }
}

TEST_CASE("A working directory with percent signs in its name is not a pattern") {
    const Installation installation;
    const std::string here = fs::canonical(installation.folder.path());
    const Outcome outcome =
        run_in(installation, "5%p %%t", {"--log=x%p", "--", "printenv", "AOTI_DBG_OUT", "AOTI_DBG_LOG"});
    CHECK(outcome.out == here + "/5%%p %%%%t/aoti_dbg/%t-%p\n" + here + "/5%%p %%%%t/x%p\n");
    // The log is found behind such a name, and its blank lines are cut.
    (void)run_in(
        installation, "5%p %%t",
        Arguments{"--log", "n.log"} + kShell + Arguments{"printf 'one\\n\\n\\n' > n.log; kill -9 $$"});
    CHECK(read_text(installation.folder.path() / "5%p %%t" / "n.log") == "one\n");
}

}  // namespace aoti_dbg::test::cli_run_test
