// Declares and parses command lines. Only this file, usage_errors.cpp and packaging/ include CLI11, because
// that takes seconds to compile.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace aoti_dbg::cli {

using AppPointer = std::shared_ptr<CLI::App>;

/// What the help, the man page and the completions say about an option. Hidden if `group` is empty.
struct OptionText {
    std::string name;  // without dashes for an argument
    std::string description = {};
    std::string value_name = {};
    std::string group = "Options";
    bool may_repeat = false;  // the last one counts
};

/// Returns the text of an option that no help shows.
inline OptionText hidden(std::string name) {
    return {std::move(name), {}, {}, {}};
}

/// Makes `aoti-dbg` itself. `examples` follow the options in the help. --version prints `version`.
AppPointer make_app(const char* description, const char* examples, const std::string& version);

CLI::App& add_command(CLI::App& app, const std::string& name, const char* description, const char* examples);

/// These declare an option or argument. `value` must outlive the parsing.
CLI::Option& add_value(CLI::App& command, const OptionText& text, std::string& value);
CLI::Option& add_value(CLI::App& command, const OptionText& text, std::vector<std::string>& value);
/// `value` becomes "true" if the switch is given without a value, such as `=off`.
CLI::Option& add_switch(CLI::App& command, const OptionText& text, std::string& value);
CLI::Option& add_switch(CLI::App& command, const OptionText& text, bool& value);

[[nodiscard]] bool was_given(const CLI::Option& option);

/// Adds --help-all to a command, which prints `help(true)`. --help prints `help(false)`.
void set_help(CLI::App& command, std::function<std::string(bool all)> help);

/// Sets the text of an option that exists, such as --help.
void describe_option(CLI::App& command, const OptionText& text);

[[nodiscard]] std::string help_of(const CLI::App& app);

struct Parsed {
    std::optional<int> exit_code;  // --help or --version was printed
    std::string command;           // empty if no command was read
    std::string fault;             // empty if there is none
};

Parsed parse(CLI::App& app, const std::vector<std::string>& arguments);

}  // namespace aoti_dbg::cli
