// Says what is wrong with a command line, and which word may have been meant. Must not know the flags of any
// command.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace aoti_dbg::cli {

/// The exit code for a wrong command line. `run` has its own.
inline constexpr int kWrongUsage = 2;

/// Returns ` Did you mean "word"?` for the nearest of `words`, ignoring dashes and case. Options are not
/// quoted. Returns an empty string if no word is near.
std::string did_you_mean(std::string_view typed, const std::vector<std::string>& words);

/// Returns `--flag: expected a or b, got "typed".`, with the nearest of `words`.
std::string wrong_value(std::string_view flag, std::string_view typed, std::string_view expected,
                        const std::vector<std::string>& words);

/// Returns all option names of a command.
std::vector<std::string> flag_names(const CLI::App& command);

/// Returns a message such as `unknown option --levle for 'run'. Did you mean --level?`
std::string unknown_option(std::string_view typed, const CLI::App& command);

std::string missing_value(std::string_view flag, const CLI::App& command);

/// Returns what is wrong with a command's arguments, in our own words where those of the parser do not fit.
std::string parse_fault(const CLI::App& command, const CLI::ParseError& error);

/// Prints `aoti-dbg run: error AD3001: fault`; `command` may be empty. Returns kWrongUsage.
int refuse(std::string_view command, std::string_view fault);

}  // namespace aoti_dbg::cli
