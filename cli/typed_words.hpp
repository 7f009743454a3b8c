// What a person types on the command line: suggestions for words that are nearly right, an error for the
// rest.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace aoti_dbg::cli {

/// The exit code for a command line that is wrong; `run` has its own.
inline constexpr int kWrongUsage = 2;

/// ` Did you mean "word"?` for the nearest of `words`, whatever the dashes and the case. Options are not
/// quoted. Empty where no word is near.
std::string did_you_mean(std::string_view typed, const std::vector<std::string>& words);

/// `expected a or b, got "typed".`, with the nearest of `words`.
std::string wrong_value(std::string_view typed, std::string_view expected,
                        const std::vector<std::string>& words);

/// All names of the options of a command.
std::vector<std::string> flag_names(const CLI::App& command);

/// Prints `aoti-dbg run: error AD3001: fault`; `command` may be empty. Returns kWrongUsage.
int refuse(std::string_view command, std::string_view fault);

/// `unknown option --levle for 'run'. Did you mean --level?`
std::string unknown_option(std::string_view typed, const CLI::App& command);

}  // namespace aoti_dbg::cli
