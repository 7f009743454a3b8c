// See run_help.hpp.
#include "cli/run/run_help.hpp"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

namespace aoti_dbg::cli {
namespace {

struct Line {
    OptionGroup group;
    Frequency frequency;
    std::string flag;  // with the name of its value
    std::string_view text;
};

constexpr const char* kOpening =
    "Run a program and show what its AOTInductor models do.\n"
    "Usage: aoti-dbg run [OPTIONS] -- program [arguments...]\n";

constexpr const char* kClosing =
    "\n"
    "Every flag sets a variable: --scope sets AOTI_DBG_SCOPE.\n"
    "All values and defaults: docs/reference/options.md\n";

constexpr const char* kVariables =
    "\n"
    "Every flag sets a variable: --scope sets AOTI_DBG_SCOPE. --filter sets\n"
    "AOT_INDUCTOR_FILTERED_KERNELS_TO_PRINT. --require, --error-exitcode, --annotate,\n"
    "--junit and --capture-verify set none.\n";

/// Returns the lines after the options.
std::string closing(HelpScreen screen) {
    if (screen == HelpScreen::common) return std::string("\n") + kRunExamples + kClosing;
    std::string text = std::string(kVariables) + "\nExit codes, other than those of the program:\n";
    for (const ExitCode& code : own_exit_codes())
        text += "  " + std::string(code.number) + std::string(5 - code.number.size(), ' ') +
                std::string(code.meaning) + "\n";
    return text + "\nAll values and defaults: docs/reference/options.md\n";
}

std::vector<Line> lines(HelpScreen screen) {
    std::vector<Line> result;
    for (const OptionInfo& option : option_table()) {
        if (option.flag.empty()) continue;
        std::string flag(option.flag);
        if (!option.value_name.empty()) flag += " " + std::string(option.value_name);
        result.push_back({option.group, option.frequency, std::move(flag), option.brief});
    }
    for (const OwnFlag& own : own_flags()) {
        std::string flag(own.flag);
        if (!own.value_name.empty()) flag += " " + std::string(own.value_name);
        result.push_back({own.group, own.frequency, std::move(flag), own.brief});
    }
    if (screen == HelpScreen::common)
        result.erase(std::remove_if(result.begin(), result.end(),
                                    [](const Line& line) { return line.frequency != Frequency::common; }),
                     result.end());
    return result;
}

}  // namespace

const char* const kRunExamples =
    "Examples:\n"
    "  aoti-dbg run -- python infer.py                     print each kernel\n"
    "  aoti-dbg run --level 2 --runs 0 -- python infer.py  print tensor statistics\n"
    "  aoti-dbg run --triage -- python infer.py            explain a crash\n"
    "  aoti-dbg run --triage --ci -- pytest tests          check in CI\n";

const std::vector<OwnFlag>& own_flags() {
    static const std::vector<OwnFlag> flags = {
        {OptionGroup::see, Frequency::rare, kCaptureVerify, "",
         "After the program ends, replay what it captured"},
        {OptionGroup::wrong, Frequency::rare, "--require", "WHAT",
         "Exit with 123 if no library, model or launch is seen"},
        {OptionGroup::wrong, Frequency::rare, "--error-exitcode", "CODE",
         "Exit code if there are findings, 0 to 255"},
        {OptionGroup::wrong, Frequency::rare, "--annotate", "github",
         "Print findings as annotations of a CI system"},
        {OptionGroup::wrong, Frequency::rare, "--junit", "FILE", "Write findings as JUnit XML"},
        {OptionGroup::rest, Frequency::common, "-h, --help", "", "Print the most used options"},
        {OptionGroup::rest, Frequency::common, "--help-all", "", "Print all options and the exit codes"},
    };
    return flags;
}

const std::vector<ExitCode>& own_exit_codes() {
    static const std::vector<ExitCode> codes = {
        {"1", "findings, a missed GPU fault or a crashed child (with --ci)"},
        {"123", "--require is not met"},
        {"125", "aoti-dbg failed"},
        {"126", "the program cannot be executed"},
        {"127", "the program was not found"},
    };
    return codes;
}

std::string run_help(HelpScreen screen) {
    const std::vector<Line> all = lines(screen);
    std::size_t width = 0;
    for (const Line& line : all)
        width = std::max(width, line.flag.size());
    std::string text = kOpening;
    for (const OptionGroup group : kOptionGroups) {
        std::string lines_of_group;
        for (const Line& line : all) {
            if (line.group != group) continue;
            lines_of_group += "  " + line.flag + std::string(width + 2 - line.flag.size(), ' ') +
                              std::string(line.text) + "\n";
        }
        if (!lines_of_group.empty()) text += "\n" + std::string(title_of(group)) + ":\n" + lines_of_group;
    }
    return text + closing(screen);
}

}  // namespace aoti_dbg::cli
