// The help of `aoti-dbg run`: one line per option, grouped. docs/reference/options.md has the details.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/options_table.hpp"

namespace aoti_dbg::cli {

/// A flag that the command itself reads and that sets no variable.
struct OwnFlag {
    OptionGroup group;
    Frequency frequency;
    std::string_view flag;
    std::string_view value_name;  // empty for a switch
    std::string_view brief;
};

const std::vector<OwnFlag>& own_flags();

/// The only own flag that is a switch, apart from those that print help.
inline constexpr std::string_view kCaptureVerify = "--capture-verify";

struct ExitCode {
    std::string_view number;
    std::string_view meaning;
};

/// Returns the exit codes of the command itself. All others are those of the program.
const std::vector<ExitCode>& own_exit_codes();

extern const char* const kRunExamples;

enum class HelpScreen { common, all };

/// At most 80 columns wide. The common screen has at most 45 lines.
std::string run_help(HelpScreen screen);

}  // namespace aoti_dbg::cli
