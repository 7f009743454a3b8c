// How to repeat what a report is about: commands as lines of the report, or as a script if they are too long.
// It has no side effects. It must print a command completely or not at all, because users copy it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "triage/judge/crash_report.hpp"

namespace aoti_dbg {

/// Returns shell commands.
std::vector<std::string> ways_to_repeat(const CrashReport& report);

/// Returns the program's command line for a shell. The typed command is unknown if the command did not start
/// the program.
std::string program_text(const CrashReport& report);

/// Returns "aoti-dbg", or the path by which a shell finds it.
std::string tool_text(const CrashReport& report);

/// Commands with more lines than this are easier to run from a script.
inline constexpr std::size_t kRepeatLines = 6;

/// Returns `repeat` in lines that a shell accepts unchanged. It breaks at blanks, so a line exceeds `width`
/// characters only for a longer word. Empty if a command has characters that a page cannot show.
std::vector<std::string> repeat_lines(const CrashReport& report, std::size_t width);

/// Appends a script for sh that runs the first command, or the one whose number is its argument. It sets the
/// program's working directory and variables.
void append_repeat_script(const CrashReport& report, std::string& out);

/// Returns how to run the script for each command.
std::vector<std::string> script_lines(const CrashReport& report);

}  // namespace aoti_dbg
