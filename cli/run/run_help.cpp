// See run_help.hpp.
#include "cli/run/run_help.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <vector>

#include "config/options_table.hpp"

namespace aoti_dbg::cli {
namespace {

struct Line {
    OptionGroup group;
    Frequency frequency;
    std::string flag;  // with the name of its value
    std::string_view text;
};

// Flags that the command itself reads and that set no variable.
const Line kOwnLines[] = {
    {OptionGroup::wrong, Frequency::rare, "--require WHAT",
     "Exit with 123 if no library, model or launch is seen"},
    {OptionGroup::wrong, Frequency::rare, "--error-exitcode CODE",
     "Exit code if there are findings, 0 to 255"},
    {OptionGroup::wrong, Frequency::rare, "--annotate github",
     "Print findings as annotations of a CI system"},
    {OptionGroup::wrong, Frequency::rare, "--junit FILE", "Write findings as JUnit XML"},
    {OptionGroup::rest, Frequency::common, "-h, --help", "Print the most used options"},
    {OptionGroup::rest, Frequency::common, "--help-all", "Print all options and the exit codes"},
};

constexpr const char* kOpening =
    "Run a program and show what its AOTInductor models do.\n"
    "Usage: aoti-dbg run [OPTIONS] -- program [arguments...]\n";

constexpr const char* kExamples =
    "\n"
    "Examples:\n"
    "  aoti-dbg run -- python infer.py                     print each kernel\n"
    "  aoti-dbg run --level 2 --runs 0 -- python infer.py  print tensor statistics\n"
    "  aoti-dbg run --triage -- python infer.py            explain a crash\n"
    "  aoti-dbg run --triage --ci -- pytest tests          check in CI\n"
    "\n"
    "Every flag sets a variable: --scope sets AOTI_DBG_SCOPE.\n"
    "All values and defaults: docs/reference/options.md\n";

constexpr const char* kExitCodes =
    "\n"
    "Every flag sets a variable: --scope sets AOTI_DBG_SCOPE. --filter sets\n"
    "AOT_INDUCTOR_FILTERED_KERNELS_TO_PRINT. --require, --error-exitcode, --annotate\n"
    "and --junit set none.\n"
    "\n"
    "Exit codes, other than those of the program:\n"
    "  1    there are findings, with --ci (--error-exitcode)\n"
    "  123  --require is not met\n"
    "  125  aoti-dbg failed\n"
    "  126  the program cannot be executed\n"
    "  127  the program was not found\n"
    "\n"
    "All values and defaults: docs/reference/options.md\n";

std::vector<Line> lines(HelpScreen screen) {
    std::vector<Line> result;
    for (const OptionInfo& option : option_table()) {
        if (option.flag.empty()) continue;
        std::string flag(option.flag);
        if (!option.value_name.empty()) flag += " " + std::string(option.value_name);
        result.push_back({option.group, option.frequency, std::move(flag), option.brief});
    }
    result.insert(result.end(), std::begin(kOwnLines), std::end(kOwnLines));
    if (screen == HelpScreen::common)
        result.erase(std::remove_if(result.begin(), result.end(),
                                    [](const Line& line) { return line.frequency != Frequency::common; }),
                     result.end());
    return result;
}

}  // namespace

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
    return text + (screen == HelpScreen::common ? kExamples : kExitCodes);
}

}  // namespace aoti_dbg::cli
