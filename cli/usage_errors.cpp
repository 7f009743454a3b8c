// See usage_errors.hpp.
#include "cli/usage_errors.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <iterator>

#include "base/error_code.hpp"
#include "config/words.hpp"

namespace aoti_dbg::cli {
namespace {

/// Returns the call that lists all options, in backquotes.
std::string help_call(const CLI::App& command) {
    const std::string call = (command.get_parent() == nullptr ? "" : "aoti-dbg ") + command.get_name();
    return "`" + call + (command.get_help_all_ptr() == nullptr ? " --help`" : " --help-all`");
}

}  // namespace

std::string did_you_mean(std::string_view typed, const std::vector<std::string>& words) {
    const auto bare = [](std::string_view word) {
        return word.substr(std::min(word.find_first_not_of('-'), word.size()));
    };
    std::vector<std::string_view> bare_words;
    std::transform(words.begin(), words.end(), std::back_inserter(bare_words), bare);
    const std::string_view nearest = nearest_word(lower_case(bare(typed)), bare_words);
    const auto found = std::find(bare_words.begin(), bare_words.end(), nearest);
    if (nearest.empty() || found == bare_words.end()) return {};
    const std::string& word = words[static_cast<std::size_t>(found - bare_words.begin())];
    return " Did you mean " + (word.front() == '-' ? word : aoti_dbg::quoted(word)) + "?";
}

std::string wrong_value(std::string_view flag, std::string_view typed, std::string_view expected,
                        const std::vector<std::string>& words) {
    return std::string(flag) + ": expected " + std::string(expected) + ", got " + aoti_dbg::quoted(typed) +
           "." + did_you_mean(typed, words);
}

std::vector<std::string> flag_names(const CLI::App& command) {
    std::vector<std::string> names;
    for (const CLI::Option* option : command.get_options()) {
        for (const std::string& name : option->get_lnames())
            names.push_back("--" + name);
        for (const std::string& name : option->get_snames())
            names.push_back("-" + name);
    }
    return names;
}

std::string unknown_option(std::string_view typed, const CLI::App& command) {
    constexpr std::size_t kLongest = 80;  // bytes
    const std::string flag(typed.substr(0, typed.find('=')));
    std::string advice = did_you_mean(flag, flag_names(command));
    if (advice.empty()) advice = " " + help_call(command) + " lists all options.";
    return "unknown option " + printable(flag, kLongest) + " for '" + command.get_name() + "'." + advice;
}

std::string missing_value(std::string_view flag, const CLI::App& command) {
    return "option " + std::string(flag) + " needs a value. See " + help_call(command) + ".";
}

std::string parse_fault(const CLI::App& command, const CLI::ParseError& error) {
    const std::string why = error.what();
    if (error.get_name() == "ArgumentMismatch")
        return missing_value(why.substr(0, why.find_first_of(": ")), command);
    const std::vector<std::string> unknown = command.remaining();
    if (unknown.empty()) return why + ".";
    if (unknown.front().rfind('-', 0) == 0) return unknown_option(unknown.front(), command);
    return "unexpected argument " + aoti_dbg::quoted(unknown.front()) + ". See " + help_call(command) + ".";
}

int refuse(std::string_view command, std::string_view fault) {
    const std::string name = "aoti-dbg" + (command.empty() ? "" : " " + std::string(command));
    std::fprintf(stderr, "%s: error AD%u: %.*s\n", name.c_str(),
                 static_cast<unsigned>(ErrorCode::wrong_usage), static_cast<int>(fault.size()), fault.data());
    return kWrongUsage;
}

}  // namespace aoti_dbg::cli
