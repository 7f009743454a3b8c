// The commands that reproduce a report: complete on the page, as a shell reads them.
#include "triage/judge/repeat_commands.hpp"

#include <csignal>
#include <sstream>

#include "tests/support/catch.hpp"
#include "tests/support/run_program.hpp"
#include "tests/unit/crash_report_fixture.hpp"

namespace aoti_dbg::test::crash_repeat_test {
namespace {

bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

/// The end of a CUDA model, so that there are two commands.
Evidence evidence_of(const std::vector<std::string>& command) {
    Evidence evidence = ended_by(SIGABRT);
    evidence.uses_cuda = true;
    evidence.command = command;
    evidence.in_flight = {call_of("mylib::my_op")};
    return evidence;
}

/// Adds everything that a page can have beside the commands.
Evidence crowded(Evidence evidence) {
    const CrashCall call = call_of("triton_poi_fused_index_3");
    evidence.before.assign(8, call);
    evidence.before_elsewhere.assign(8, call);
    evidence.also_in_flight.assign(8, call);
    evidence.unended.assign(16, call);
    evidence.unended_count = 400;
    evidence.faulted = call;
    evidence.faulted->inside = std::string(90, 'i');
    evidence.arguments.assign(8, {"buf0", "float32 [8]", "triton_poi_fused_exp_0 (call 1)"});
    evidence.notes.assign(8, "a note");
    evidence.end.program = std::string(90, 'p');
    evidence.versions.assign(8, {"package", std::string(30, 'x')});
    return evidence;
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
    const Evidence evidence = crowded(
        evidence_of({"python", "-m", "pytest", "tests/with a blank.py", "it's one", "-k", word, "end"}));
    const std::string text = text_of(evidence);
    CHECK(contains(text, "\n  arguments      buf0: float32 [8]\n                 buf0: float32 [8]\n"));
    CHECK(contains(text, "\n  other streams  triton_poi_fused_index_3 "));
    CHECK(contains(text, "\n                 and 384 more\n"));
    CHECK(contains(text, "compute-sanitizer --tool memcheck python -m pytest 'tests/with a blank.py'"));
    CHECK(words_of(text) ==
          "<run><--triage><--><python><-m><pytest><tests/with a blank.py><it's one><-k><" + word + "><end>");
}

TEST_CASE("A word that is longer than a line stays in one piece in a command") {
    const std::string word(300, 'k');
    const std::string text = text_of(evidence_of({"python", "-k", word, "end"}));
    CHECK(words_of(text) == "<run><--triage><--><python><-k><" + word + "><end>");
}

TEST_CASE("A command is not cut at a quote within a word") {
    for (std::size_t length = 1; length < 80; ++length) {
        const Evidence evidence = evidence_of({std::string(length, 'x'), "it's a b c d e f g h i j", "end"});
        CHECK(words_of(text_of(evidence)) ==
              "<run><--triage><--><" + std::string(length, 'x') + "><it's a b c d e f g h i j><end>");
    }
}

TEST_CASE("Commands of many lines are complete on the page") {
    std::vector<std::string> many = {"python"};
    std::string words = "<run><--triage><--><python>";
    for (int i = 100; i < 180; ++i) {
        many.push_back("--argument" + std::to_string(i));
        words += "<" + many.back() + ">";
    }
    CHECK(words_of(text_of(evidence_of(many))) == words);
}

TEST_CASE("A command with characters that a page cannot show points to the exact one") {
    for (const char* argument : {"a\nb", "\xff"}) {
        const std::string text = text_of(crowded(evidence_of({"python", argument, std::string(300, 'x')})));
        CHECK(contains(text, "  reproduce      (exact in report.json) CUDA_LAUNCH_BLOCKING=1 "));
        CHECK(contains(text, std::string(300, 'x')));
    }
}

TEST_CASE("The command in report.json runs the same program, whatever its arguments contain") {
    const TempFolder folder;
    const std::filesystem::path tool = folder.path() / "a tool";
    write_text(tool, "#!/bin/sh\nprintf '<%s>' \"$CUDA_LAUNCH_BLOCKING\" \"$@\"\n");
    std::filesystem::permissions(tool, std::filesystem::perms::owner_all);
    Evidence evidence = evidence_of({"./p", "a\nb", "$(exit 9)", "", "it's", "--", "\\"});
    evidence.tool = tool.string();
    const Outcome outcome = run_program({"/bin/sh", "-c", judge(evidence).repeat.front()});
    CHECK(outcome.exit_code == 0);
    CHECK(outcome.err.empty());
    CHECK(outcome.out == "<1><run><--triage><--><./p><a\nb><$(exit 9)><><it's><--><\\>");
}

TEST_CASE("Commands are quoted so that a shell reads the same words") {
    CHECK(shell_text({"python", "a b.py", "it's", "", "$HOME", "--x=1", "t[0]"}) ==
          R"(python 'a b.py' 'it'\''s' '' '$HOME' --x=1 't[0]')");
}

}  // namespace aoti_dbg::test::crash_repeat_test
