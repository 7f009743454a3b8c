// The command line of aoti-dbg as data, read from the declarations of its commands. The man page and the
// completions are written from it. Must not know any option by name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/options_table.hpp"

namespace aoti_dbg::packaging {

/// What a shell completes as a value.
enum class ValueKind { none, words, file, directory, other };

struct DescribedOption {
    std::vector<std::string> names;  // "-h", "--help"; of an argument, its only name
    std::string value_name;          // empty for a switch
    std::string text;
    std::vector<std::string> words;  // accepted words, as far as they are known
    ValueKind kind = ValueKind::none;
    std::string group;
    const OptionInfo* info = nullptr;  // if the option sets a variable
};

struct DescribedCommand {
    std::string name;  // empty for aoti-dbg itself
    std::string text;
    std::string examples;  // lines: a command, blanks, and what it does
    std::vector<DescribedOption> options;
    std::vector<DescribedOption> arguments;
    bool starts_program = false;  // the rest of the command line is a program
};

struct Description {
    DescribedCommand general;
    std::vector<DescribedCommand> commands;
};

/// Returns the words in a list of values in words, such as `off` and `wait` in "off, wait or 1 to 9".
std::vector<std::string> words_in_values(std::string_view values);

/// Returns the Markdown of the reference page for an option of the table.
std::string_view details_of(const OptionInfo& info);

// Each returns a whole file.
std::string man_page(const Description& description, std::string_view version);
std::string bash_completion(const Description& description);
std::string zsh_completion(const Description& description);
std::string fish_completion(const Description& description);

}  // namespace aoti_dbg::packaging
