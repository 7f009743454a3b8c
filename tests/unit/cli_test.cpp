// `aoti-dbg run` and the command line as a script sees them: processes, exit codes and text.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <sstream>

#include "config/options_table.hpp"
#include "tests/support/places.hpp"
#include "tests/unit/cli_installation.hpp"

namespace aoti_dbg::test::cli_test {

namespace fs = std::filesystem;

namespace {

std::string line_with(const std::string& text, const std::string& part) {
    const std::size_t place = text.find(part);
    if (place == std::string::npos) return {};
    const std::size_t begin = text.rfind('\n', place) + 1;
    return text.substr(begin, text.find('\n', place) - begin);
}

/// A set of signals from the text of /proc/self/status, without those beyond 31, which belong to libc.
unsigned long signals_in(const std::string& status, const std::string& name) {
    const std::string line = line_with(status, name);
    return std::stoul("0" + line.substr(std::min(line.size(), name.size() + 1)), nullptr, 16) & 0x7fffffffU;
}

}  // namespace

TEST_CASE("Without the library beside it, run starts nothing and says where the library belongs") {
    const Installation installation;
    fs::remove(installation.library());
    const Outcome outcome = installation.run({"--", "/bin/echo", "started"});
    CHECK(outcome.exit_code == 125);
    CHECK(outcome.out.empty());
    CHECK(contains(outcome.err, "cannot find libaoti_dbg.so. The program was not started."));
}

TEST_CASE("A missing program gives 127, and one that cannot be executed 126") {
    const Installation installation;
    CHECK(installation.run({"--", "no-such-program-here"}).exit_code == 127);
    const Outcome missing = installation.run({"--", "/no/such/program"});
    CHECK(missing.exit_code == 127);
    CHECK(
        contains(missing.err, "cannot execute /no/such/program: no such file or directory. Check its name"));
    CHECK(installation.run({"--", "/"}).exit_code == 126);
    write_text(installation.folder.path() / "plain", "text");
    CHECK(installation.run({"--", "./plain"}).exit_code == 126);
}

TEST_CASE("Wrong usage of run is 125 and starts nothing") {
    const Installation installation;
    const std::vector<std::string> wrong =
        GENERATE(std::vector<std::string>{}, std::vector<std::string>{"--"},
                 std::vector<std::string>{"--no-such-flag", "1", "--", "/bin/echo", "started"},
                 std::vector<std::string>{"--level"},
                 std::vector<std::string>{"--ring=x", "--", "/bin/echo", "started"});
    const Outcome outcome = installation.run(wrong);
    CHECK(outcome.exit_code == 125);
    CHECK(outcome.out.empty());
    CHECK_FALSE(outcome.err.empty());
}

TEST_CASE("A wrong value of a flag is refused with the allowed ones and the nearest word") {
    const Outcome outcome = Installation().run({"--scope", "modle", "--", "/bin/echo", "started"});
    CHECK(outcome.exit_code == 125);
    CHECK(outcome.out.empty());
    CHECK(outcome.err ==
          "aoti-dbg run: error AD3001: --scope: expected model or all, got \"modle\". Did you mean "
          "\"model\"?\n");
}

TEST_CASE("Death by a signal is passed on as death by the same signal") {
    const int signal = GENERATE(SIGKILL, SIGSEGV, SIGABRT, SIGTERM, SIGINT, SIGPIPE);
    const Outcome outcome =
        Installation().run({"--", "/bin/sh", "-c", "ulimit -c 0; kill -" + std::to_string(signal) + " $$"});
    CHECK(outcome.signal == signal);
    CHECK(outcome.err.empty());
}

TEST_CASE("A signal sent to run alone reaches the program, which may handle it") {
    // $PPID is the command, and the program waits for the signal that the command forwards.
    const std::string script =
        "trap 'echo caught; exit 5' TERM; kill -TERM $PPID; while :; do sleep 0.01; done";
    const Outcome outcome = Installation().run({"--", "/bin/sh", "-c", script});
    CHECK(outcome.out == "caught\n");
    CHECK(outcome.exit_code == 5);
}

TEST_CASE("The program starts with the signal mask and dispositions of the caller") {
    const Installation installation;
    const std::vector<std::string> caller = {"env", "--ignore-signal=HUP,INT,CHLD",
                                             "--block-signal=TERM,USR1,CHLD"};
    std::vector<std::string> bare = caller;
    std::vector<std::string> under = caller;
    under.insert(under.end(), {installation.tool(), "run", "--"});
    for (std::vector<std::string>* command : {&bare, &under}) {
        command->insert(command->end(), {"cat", "/proc/self/status"});
    }
    const std::string expected = run_program(bare).out;
    const std::string status = run_program(under).out;
    CHECK(signals_in(expected, "SigIgn:") == 0x10003);
    CHECK(signals_in(status, "SigIgn:") == 0x10003);
    CHECK(signals_in(expected, "SigBlk:") == 0x14200);
    CHECK(signals_in(status, "SigBlk:") == 0x14200);
}

TEST_CASE("An ignored SIGCHLD does not lose the program's exit code") {
    const Installation installation;
    const Outcome outcome = run_program(
        {"env", "--ignore-signal=CHLD", installation.tool(), "run", "--", "/bin/sh", "-c", "exit 9"});
    CHECK(outcome.exit_code == 9);
}

TEST_CASE("The program's exit code, arguments and output are its own") {
    const Installation installation;
    const Outcome outcome = installation.run({"--", "/bin/sh", "-c", "printf '<%s>' \"$@\"; exit 42", "sh",
                                              "show", "--", "--level", "9", "", "run"});
    CHECK(outcome.exit_code == 42);
    CHECK(outcome.out == "<show><--><--level><9><><run>");
    CHECK(outcome.err.empty());
    CHECK(installation.run({"/bin/sh", "-c", "echo $0", "--help"}).out == "--help\n");
}

TEST_CASE("The library goes in front of other preloaded libraries, but behind a sanitizer's") {
    const Installation installation;
    const std::string library = installation.library();
    const std::string other = installation.folder.path() / "other.so";
    const std::string sanitizer = installation.folder.path() / "libasan.so.8";
    fs::copy_file(places::kStandIn, other);
    fs::copy_file(places::kStandIn, sanitizer);
    // A sanitized build of the command needs its runtime library in front, as any sanitized program does.
    std::string first = preload_value(other);
    first.resize(first.size() - other.size());
    const auto preload = [&](const std::string& present) {
        return installation.variable("LD_PRELOAD", {}, {{"LD_PRELOAD", first + present}});
    };
    CHECK(preload("") == first + library);
    CHECK(preload(other) == first + library + ":" + other);
    CHECK(preload(library + " " + other) == first + library + ":" + other);
    CHECK(preload(other + ":" + sanitizer) == first + sanitizer + ":" + library + ":" + other);
}

TEST_CASE("Names are printed unless a flag or a variable says otherwise") {
    const Installation installation;
    CHECK(installation.variable("AOTI_DBG_DEFAULT_LEVEL") == "3");
    CHECK(installation.variable("AOTI_DBG_LEVEL") == "unset");
    CHECK(installation.variable("AOTI_DBG_LEVEL", {}, {{"AOTI_DBG_LEVEL", "0"}}) == "0");
    CHECK(installation.variable("AOTI_DBG_LEVEL", {"--level", "names"}, {{"AOTI_DBG_LEVEL", "0"}}) ==
          "names");
    CHECK(installation.variable("AOTI_DBG_LEVEL", {},
                                {{"AOT_INDUCTOR_DEBUG_INTERMEDIATE_VALUE_PRINTER", "0"}}) == "unset");
}

TEST_CASE("Each flag sets its variable") {
    const Installation installation;
    const std::vector<std::string> flags = {"--scope", "all", "--out=/here", "--log", "/x",
                                            "--ring",  "16",  "--filter",    "a,b"};
    CHECK(installation.variable("AOTI_DBG_SCOPE", flags) == "all");
    CHECK(installation.variable("AOTI_DBG_OUT", flags) == "/here");
    CHECK(installation.variable("AOTI_DBG_LOG", flags) == "/x");
    CHECK(installation.variable("AOTI_DBG_RING", flags) == "16");
    CHECK(installation.variable("AOT_INDUCTOR_FILTERED_KERNELS_TO_PRINT", flags) == "a,b");
}

TEST_CASE("Blank lines that a killed program leaves at the end of its log are cut") {
    const Installation installation;
    const fs::path log = installation.folder.path() / "names.log";
    const std::string pad = "yes '' | head -n 200000";
    SECTION("after text") {
        const Outcome outcome =
            installation.run({"--log", "names.log", "--", "/bin/sh", "-c",
                              "{ echo; echo one; " + pad + "; } > names.log; kill -9 $$"});
        CHECK(outcome.signal == SIGKILL);
        CHECK(read_text(log) == "\none\n");
    }
    SECTION("without any text") {
        (void)installation.run({"--log", "names.log", "--", "/bin/sh", "-c", pad + " > names.log"});
        CHECK(fs::is_regular_file(log));
        CHECK(read_text(log).empty());
    }
    SECTION("under the name that the library chose because the first one was taken") {
        write_text(log, "before\n");
        (void)installation.run({"--log", "names.log", "--", "/bin/sh", "-c",
                                "{ echo one; " + pad + "; } > names.log.2; kill -9 $$"});
        CHECK(read_text(log.string() + ".2") == "one\n");
    }
    SECTION("named by the process") {
        const Outcome outcome = installation.run(
            {"--log", "n%%%p.log", "--", "/bin/sh", "-c", "{ echo one; " + pad + "; } > n%$$.log; echo $$"});
        const std::string pid = outcome.out.substr(0, outcome.out.find('\n'));
        CHECK(read_text(installation.folder.path() / ("n%" + pid + ".log")) == "one\n");
    }
}

TEST_CASE("A log that the program did not write, or that is still mapped, is left alone") {
    const Installation installation;
    const fs::path log = installation.folder.path() / "names.log";
    const std::string text = "one\n\n\n";
    SECTION("older than the run") {
        write_text(log, text);
        fs::last_write_time(log, fs::file_time_type::clock::now() - std::chrono::hours(1));
        (void)installation.run({"--log", "names.log", "--", "/bin/true"});
        CHECK(read_text(log) == text);
    }
    SECTION("mapped") {
        write_text(log, text);
        const int file = open(log.c_str(), O_RDWR | O_CLOEXEC);
        REQUIRE(file >= 0);
        void* const map = mmap(nullptr, text.size(), PROT_READ, MAP_SHARED, file, 0);
        close(file);
        REQUIRE(map != MAP_FAILED);
        (void)installation.run(
            {"--log", "names.log", "--", "/bin/sh", "-c", "printf 'two\\n\\n\\n' > names.log"});
        munmap(map, text.size());
        CHECK(read_text(log) == "two\n\n\n");
    }
}

TEST_CASE("An unknown flag of run starts nothing and gets the nearest one as a hint") {
    const Installation installation;
    const auto said = [&](const std::vector<std::string>& flags) {
        std::vector<std::string> arguments = flags;
        arguments.insert(arguments.end(), {"--", "/bin/echo", "started"});
        const Outcome outcome = installation.run(arguments);
        CHECK(outcome.exit_code == 125);
        CHECK(outcome.out.empty());
        return outcome.err;
    };
    CHECK(said({"--levle", "3"}) ==
          "aoti-dbg run: error AD3001: unknown option --levle for 'run'. Did you mean --level?\n");
    CHECK(contains(said({"--Scope=all"}), "--Scope for 'run'. Did you mean --scope?"));
    CHECK(contains(said({"--level", "3", "--requires", "model"}), "Did you mean --require?"));
    CHECK(contains(said({"--verbose"}), "`aoti-dbg run --help-all` lists all options."));
    CHECK_FALSE(contains(said({"--verbose"}), "Did you mean"));
    CHECK_FALSE(contains(said({"-x"}), "Did you mean"));
    CHECK_FALSE(contains(said({"--" + std::string(100000, 'l')}), "Did you mean"));
}

TEST_CASE("A flag's value may follow a space or an equals sign, and look like a flag") {
    const Installation installation;
    const std::string filter = "AOT_INDUCTOR_FILTERED_KERNELS_TO_PRINT";
    CHECK(installation.variable(filter, {"--filter", "a=b"}) == "a=b");
    CHECK(installation.variable(filter, {"--filter=a=b"}) == "a=b");
    CHECK(installation.variable(filter, {"--filter", "--level"}) == "--level");
    CHECK(installation.variable(filter, {"--filter=a", "--filter", "b"}) == "b");
    CHECK(contains(installation.run({"--filter", "--", "/bin/echo"}).err, "option --filter needs a value."));
}

TEST_CASE("The full help of run has a line for every option of the table, and version and help succeed") {
    const Outcome help = run_program({places::kTool, "run", "--help-all"});
    CHECK(help.exit_code == 0);
    CHECK(help.err.empty());
    for (const OptionInfo& option : option_table()) {
        if (option.flag.empty()) continue;
        CAPTURE(option.flag);
        const std::string flag = "\n  " + std::string(option.flag) + " ";
        CHECK(contains(help.out, flag));
        CHECK(contains(line_with(help.out, flag.substr(1)), std::string(option.brief)));
    }
    for (const char* text :
         {"--require", "--junit", "--annotate", "--error-exitcode", "AOTI_DBG_SCOPE", "123"})
        CHECK(contains(help.out, text));
    CHECK(contains(run_program({places::kTool, "--help"}).out, "Examples:"));
    CHECK(run_program({places::kTool, "--help"}).exit_code == 0);
    CHECK(run_program({places::kTool, "--version"}).exit_code == 0);
}

TEST_CASE("The help of each command fits a screen of 45 lines and 80 columns") {
    for (const std::string command : {"", "run", "show", "report", "explain", "doctor"}) {
        CAPTURE(command);
        const Outcome help = command.empty() ? run_program({places::kTool, "--help"})
                                             : run_program({places::kTool, command, "--help"});
        CHECK(help.exit_code == 0);
        std::istringstream text(help.out);
        std::string line;
        int lines = 0;
        for (; std::getline(text, line); ++lines) {
            CAPTURE(line);
            CHECK(line.size() <= 80);
        }
        CHECK(lines > 5);
        CHECK(lines <= 45);
    }
    std::istringstream all(run_program({places::kTool, "run", "--help-all"}).out);
    for (std::string line; std::getline(all, line);) {
        CAPTURE(line);
        CHECK(line.size() <= 80);
    }
}

TEST_CASE("The first screen of run has the common options in their groups, and no others") {
    const std::string help = run_program({places::kTool, "run", "--help"}).out;
    std::size_t last = 0;
    for (const char* title : {"\nWhat to see:\n", "\nWhat to select:\n", "\nWhere it goes:\n",
                              "\nWhen something is wrong:\n", "\nMore:\n", "\nExamples:\n"}) {
        CAPTURE(title);
        const std::size_t place = help.find(title);
        REQUIRE(place != std::string::npos);
        CHECK(place > last);
        last = place;
    }
    for (const OptionInfo& option : option_table()) {
        if (option.flag.empty()) continue;
        CAPTURE(option.flag);
        const bool is_there = contains(help, "\n  " + std::string(option.flag) + " ");
        CHECK(is_there == (option.frequency == Frequency::common));
    }
}

TEST_CASE("The help of a command has its own examples, and no parser internals") {
    for (const std::string command : {"show", "report", "explain", "doctor"}) {
        CAPTURE(command);
        const Outcome help = run_program({places::kTool, command, "--help"});
        CHECK(help.exit_code == 0);
        const std::size_t examples = help.out.find("Examples:\n");
        REQUIRE(examples != std::string::npos);
        const std::string first = "  aoti-dbg " + command;
        CHECK(help.out.compare(examples + 10, first.size(), first) == 0);
        CHECK_FALSE(contains(help.out, "aoti-dbg run -- "));
        for (const char* raw : {"UINT", "TEXT", "Excludes", "[...]", "[command", "--process", "--child"})
            CHECK_FALSE(contains(help.out, raw));
    }
}

TEST_CASE("A code is explained, all codes are listed, and an unknown one fails as usage") {
    const Outcome size = run_program({places::kTool, "explain", "AD1203"});
    CHECK(size.exit_code == 0);
    CHECK(size.out.starts_with("AD1203  Wrong size\n\n"));
    CHECK(contains(size.out, "\nExample:\n  [ finding 1: model input arg2_1: expected size"));
    CHECK(contains(size.out, "\nWhat to do:\n  - "));
    CHECK(run_program({places::kTool, "explain", "1203"}).out == size.out);
    const Outcome all = run_program({places::kTool, "explain"});
    CHECK(all.exit_code == 0);
    CHECK(contains(all.out, "AD1102  NaN made by a call\n"));
    const Outcome unknown = run_program({places::kTool, "explain", "AD9"});
    CHECK(unknown.exit_code == 2);
    CHECK(contains(
        unknown.err,
        "aoti-dbg explain: error AD3001: there is no code \"AD9\". `aoti-dbg explain` lists all codes."));
}

TEST_CASE("A full standard output is an error, and a closed pipe is not") {
    const std::string tool = places::kTool;
    const Outcome full = run_program({"/bin/sh", "-c", tool + " explain > /dev/full"});
    CHECK(full.exit_code == 1);
    CHECK(contains(full.err, "error AD3005: cannot write to standard output: no space left on device."));
    const Outcome closed = run_program({"/bin/bash", "-c", tool + " explain | true; exit ${PIPESTATUS[0]}"});
    CHECK(closed.exit_code == 0);
    CHECK(closed.err.empty());
}

TEST_CASE("A missing command gets the help, and an unknown one the nearest name; both fail as usage") {
    const Outcome bare = run_program({places::kTool});
    CHECK(bare.exit_code == 2);
    CHECK(bare.out.empty());
    CHECK(contains(bare.err, "Examples:"));
    const Outcome unknown = run_program({places::kTool, "shwo"});
    CHECK(unknown.exit_code == 2);
    CHECK(contains(unknown.err, "unknown command \"shwo\". Did you mean \"show\"?"));
    CHECK(run_program({places::kTool, "--no-such-flag"}).exit_code == 2);
}

}  // namespace aoti_dbg::test::cli_test
