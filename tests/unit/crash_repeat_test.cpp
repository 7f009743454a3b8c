// The commands that reproduce a report: complete on the page, or in a script that a shell runs.
#include "triage/judge/reproduce_script.hpp"

#include <csignal>
#include <sstream>

#include "tests/support/catch.hpp"
#include "tests/support/run_program.hpp"
#include "tests/unit/crash_report_fixture.hpp"

using namespace aoti_dbg;
using namespace aoti_dbg::test;

namespace {

bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

/// The report of a CUDA model, so that there are two commands.
CrashReport report_of(const std::vector<std::string>& command) {
    CrashReport report = ended_by(SIGABRT);
    report.uses_cuda = true;
    report.command = command;
    report.in_flight = {call_of("mylib::my_op")};
    return concluded(report);
}

/// Adds everything that a page can have beside the commands.
CrashReport crowded(CrashReport report) {
    const CrashCall call = call_of("triton_poi_fused_index_3");
    report.before.assign(8, call);
    report.before_elsewhere.assign(8, call);
    report.also_in_flight.assign(8, call);
    report.unended.assign(16, call);
    report.unended_count = 400;
    report.faulted = call;
    report.faulted->inside = std::string(90, 'i');
    report.arguments.assign(8, {"buf0", "float32 [8]", "triton_poi_fused_exp_0 (call 1)"});
    report.notes.assign(8, "a note");
    report.end.program = std::string(90, 'p');
    report.environment.assign(8, {"package", std::string(30, 'x')});
    report.next.assign(4, std::string(90, 'a') + " " + std::string(90, 'b'));
    return report;
}

/// The words that a shell reads from the page's `reproduce` section.
std::string words_of(const std::string& text) {
    const std::size_t begin = text.find("  reproduce      ");
    REQUIRE(begin != std::string::npos);
    std::istringstream lines(text.substr(begin + 17));
    std::string command;
    for (std::string line; std::getline(lines, line);) {
        const std::size_t from = command.empty() ? 0 : line.find_first_not_of(' ');
        command += line.substr(from) + "\n";
        if (line.back() != '\\') break;
    }
    command.replace(0, command.find("run"), "printf '<%s>' ");
    return run_program({"/bin/sh", "-c", command}).out;
}

}  // namespace

TEST_CASE("However full the page is, it has the complete commands and everything else") {
    const std::string word(70, 'k');
    const CrashReport report = crowded(
        report_of({"python", "-m", "pytest", "tests/with a blank.py", "it's one", "-k", word, "end"}));
    const std::string text = text_of(report);
    CHECK_FALSE(has_long_commands(report));
    CHECK(contains(text, "\n  arguments      buf0: float32 [8]\n                 buf0: float32 [8]\n"));
    CHECK(contains(text, "\n  other streams  triton_poi_fused_index_3 "));
    CHECK(contains(text, "\n                 and 384 more\n"));
    CHECK(contains(text, "compute-sanitizer --tool memcheck python -m pytest 'tests/with a blank.py'"));
    CHECK(words_of(text) ==
          "<run><--triage><--><python><-m><pytest><tests/with a blank.py><it's one><-k><" + word + "><end>");
}

TEST_CASE("A word that is longer than a line stays in one piece in a command") {
    const std::string word(300, 'k');
    const std::string text = text_of(report_of({"python", "-k", word, "end"}));
    CHECK(words_of(text) == "<run><--triage><--><python><-k><" + word + "><end>");
}

TEST_CASE("A command is not cut at a quote within a word") {
    for (std::size_t length = 1; length < 80; ++length) {
        const CrashReport report = report_of({std::string(length, 'x'), "it's a b c d e f g h i j", "end"});
        CHECK(words_of(text_of(report)) ==
              "<run><--triage><--><" + std::string(length, 'x') + "><it's a b c d e f g h i j><end>");
    }
}

TEST_CASE("Commands of many lines become a script on the page; without one they are complete") {
    std::vector<std::string> many = {"python"};
    for (int i = 100; i < 180; ++i)
        many.push_back("--argument" + std::to_string(i));
    CrashReport report = report_of(many);
    CHECK(has_long_commands(report));
    for (int i = 100; i < 180; ++i)
        CHECK(contains(text_of(report), "--argument" + std::to_string(i)));
    report.repeat_script = "/out/my run/repeat.sh";
    CHECK(contains(text_of(report),
                   "  reproduce      sh '/out/my run/repeat.sh' 1  # CUDA_LAUNCH_BLOCKING=1 ...\n"
                   "                 sh '/out/my run/repeat.sh' 2  # compute-sanitizer ...\n"));
    report.repeat_script = "/" + std::string(100, 'd') + "/repeat.2.sh";
    CHECK(contains(text_of(report), "sh " + report.repeat_script + " 1"));
    report.repeat_script = "/out\n/repeat.2.sh";
    CHECK(contains(text_of(report), "  reproduce      in the output folder: sh repeat.2.sh 1"));
}

TEST_CASE("A command with characters that a page cannot show points to the exact one") {
    for (const char* argument : {"a\nb", "\xff"}) {
        CrashReport report = crowded(report_of({"python", argument, std::string(300, 'x')}));
        CHECK(has_long_commands(report));
        CHECK(contains(text_of(report), "  reproduce      (exact in report.json) CUDA_LAUNCH_BLOCKING=1 "));
        CHECK(contains(text_of(report), std::string(300, 'x')));
        report.repeat_script = "/out/repeat.sh";
        CHECK(contains(text_of(report), "  reproduce      sh /out/repeat.sh 1  # "));
    }
}

TEST_CASE("The script runs the same program in the same place and environment, whatever they contain") {
    const TempFolder folder;
    const std::filesystem::path place = folder.path() / "it's $HOME";
    std::filesystem::create_directories(place);
    const std::filesystem::path tool = folder.path() / "a tool";
    write_text(tool, "#!/bin/sh\npwd\nprintf '<%s>' \"$CUDA_LAUNCH_BLOCKING\" \"$TRITON_X\" \"$@\"\n");
    std::filesystem::permissions(tool, std::filesystem::perms::owner_all);
    CrashReport report = ended_by(SIGABRT);
    report.uses_cuda = true;
    report.tool = tool.string();
    report.working_folder = place.string();
    report.repeat_variables = {{"TRITON_X", "a 'b'\n$c"}, {"TRITON_;exit 9", "1"}, {"9", "1"}};
    report.command = {"./p", "a\nb", "$(exit 9)", "", "it's", "--", "\\"};
    std::string script;
    append_repeat_script(concluded(report), script);
    write_text(folder.path() / "repeat.sh", script);
    const Outcome first = run_program({"/bin/sh", (folder.path() / "repeat.sh").string()});
    CHECK(first.exit_code == 0);
    CHECK(first.err.empty());
    CHECK(first.out == place.string() +
                           "\n<1><a 'b'\n$c><run><--triage><--><./p><a\nb><$(exit 9)><><it's>"
                           "<--><\\>");
    CHECK(run_program({"/bin/sh", (folder.path() / "repeat.sh").string(), "3"}).exit_code == 2);
}
