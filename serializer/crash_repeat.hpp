// How what a report is about is repeated: the commands, as lines of the report, and as a script where they
// are too long for those. Pure. A command is told whole or not at all, since somebody will copy it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "serializer/crash_report.hpp"

namespace aoti_dbg {

/// Commands for a shell.
std::vector<std::string> ways_to_repeat(const CrashReport& report);

/// As a shell takes it; what was typed is not known where nobody waited for the program.
std::string program_text(const CrashReport& report);

/// "aoti-dbg", or how else a shell finds it.
std::string tool_text(const CrashReport& report);

inline constexpr std::size_t kRepeatLines = 6;

/// `repeat` in lines of at most `width` characters that a shell takes as they stand, cut at blanks between
/// words; empty where that takes more than kRepeatLines, or characters that a page must not hold.
std::vector<std::string> repeat_lines(const CrashReport& report, std::size_t width);

/// A script for sh that runs the first way, or that whose number it is given: in the program's working
/// directory, with the variables that it had.
void append_repeat_script(const CrashReport& report, std::string& out);

/// How it is called, for each way, in at most `width` characters.
std::vector<std::string> script_lines(const CrashReport& report, std::size_t width);

}  // namespace aoti_dbg
