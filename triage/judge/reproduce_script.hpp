// How what a report is about is repeated: the commands, as lines of the report, and as a script where they
// are too long for those. Pure. A command is told whole or not at all, since somebody will copy it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "triage/judge/crash_report.hpp"

namespace aoti_dbg {

/// Commands for a shell.
std::vector<std::string> ways_to_repeat(const CrashReport& report);

/// As a shell takes it; what was typed is not known where nobody waited for the program.
std::string program_text(const CrashReport& report);

/// "aoti-dbg", or how else a shell finds it.
std::string tool_text(const CrashReport& report);

/// More lines than this are easier to run from a script.
inline constexpr std::size_t kRepeatLines = 6;

/// `repeat` in lines that a shell takes as they are, broken at blanks between words so that each has at most
/// `width` characters unless a word is longer. Empty if a command holds characters that a page cannot show.
std::vector<std::string> repeat_lines(const CrashReport& report, std::size_t width);

/// A script for sh that runs the first way, or that whose number it is given: in the program's working
/// directory, with the variables that it had.
void append_repeat_script(const CrashReport& report, std::string& out);

/// How to run the script, for each command.
std::vector<std::string> script_lines(const CrashReport& report);

}  // namespace aoti_dbg
