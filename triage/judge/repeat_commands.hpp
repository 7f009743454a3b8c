// The commands that reproduce the run of a report. This code has no side effects. It must print a command
// completely or not at all, because users copy it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/shell_text.hpp"
#include "triage/judge/evidence.hpp"

namespace aoti_dbg {

/// Returns shell commands.
std::vector<std::string> ways_to_repeat(const Evidence& evidence);

/// Returns the program's command line for a shell. The typed command is unknown if the command did not start
/// the program.
std::string program_text(const Evidence& evidence);

/// Returns "aoti-dbg", or the path where a shell finds it.
std::string tool_text(const Evidence& evidence);

/// Returns the commands in lines that a shell accepts unchanged. It breaks at blanks, so a line exceeds
/// `width` characters only for a longer word. Empty if a command has characters that a page cannot show.
std::vector<std::string> repeat_lines(const std::vector<std::string>& commands, std::size_t width);

}  // namespace aoti_dbg
