// See command_line.hpp.
#include "cli/command_line.hpp"

#include <CLI/CLI.hpp>
#include <utility>

#include "base/words.hpp"
#include "cli/usage_errors.hpp"
#include "triage/render/wrapped_text.hpp"

namespace aoti_dbg::cli {
namespace {

constexpr std::size_t kWidth = 80;
constexpr std::size_t kColumn = 22;  // where descriptions begin

/// Formats help at most 80 columns wide. Hidden options and arguments are left out.
class HelpFormatter final : public CLI::Formatter {
  public:
    HelpFormatter() {
        column_width(kColumn);
        label("Positionals", "Arguments");
        label("SUBCOMMAND", "COMMAND");
    }

    std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override {
        std::string text = CLI::Formatter::make_help(app, std::move(name), mode);
        // CLI11 leaves blank lines for groups that have no visible option.
        for (std::size_t at = text.find("\n\n\n"); at != std::string::npos; at = text.find("\n\n\n", at))
            text.erase(at, 1);
        while (text.size() > 1 && text.compare(text.size() - 2, 2, "\n\n") == 0)
            text.pop_back();
        return text;
    }

    std::string make_usage(const CLI::App* app, std::string name) const override {
        std::string usage = CLI::Formatter::make_usage(app, std::move(name));
        const auto is_hidden = [](const CLI::Option* option) {
            return option->get_positional() && option->get_group().empty();
        };
        for (const CLI::Option* option : app->get_options(is_hidden)) {
            const std::string hidden = " " + make_option_usage(option);
            if (const std::size_t at = usage.find(hidden); at != std::string::npos)
                usage.erase(at, hidden.size());
        }
        return usage;
    }

    std::string make_option_desc(const CLI::Option* option) const override {
        return joined(wrapped(option->get_description(), kWidth - kColumn), "\n");
    }
};

CLI::Option& with_text(CLI::Option& option, const OptionText& text) {
    option.description(text.description);
    option.group(text.group);
    return option;
}

CLI::Option& as_value(CLI::Option& option, const OptionText& text) {
    option.type_name(text.value_name);
    if (text.may_repeat) option.take_last();
    return with_text(option, text);
}

}  // namespace

AppPointer make_app(const char* description, const char* examples, const std::string& version) {
    AppPointer app = std::make_shared<CLI::App>(description, "aoti-dbg");
    app->set_version_flag("--version", version, "Print the version and what it supports.");
    app->set_help_flag("-h,--help", "Print this help.");
    app->formatter(std::make_shared<HelpFormatter>());
    app->require_subcommand(1);
    app->footer(examples);
    return app;
}

CLI::App& add_command(CLI::App& app, const std::string& name, const char* description, const char* examples) {
    return *app.add_subcommand(name, description)->footer(examples)->group("Commands");
}

CLI::Option& add_value(CLI::App& command, const OptionText& text, std::string& value) {
    return as_value(*command.add_option(text.name, value), text);
}

CLI::Option& add_value(CLI::App& command, const OptionText& text, std::vector<std::string>& value) {
    return as_value(*command.add_option(text.name, value), text);
}

CLI::Option& add_switch(CLI::App& command, const OptionText& text, std::string& value) {
    CLI::Option& option = *command.add_flag(text.name, value);
    if (text.may_repeat) option.take_last();
    return with_text(option, text);
}

CLI::Option& add_switch(CLI::App& command, const OptionText& text, bool& value) {
    return with_text(*command.add_flag(text.name, value), text);
}

bool was_given(const CLI::Option& option) {
    return option.count() != 0;
}

void set_help(CLI::App& command, std::function<std::string(bool all)> help) {
    command.formatter_fn(
        [help = std::move(help)](const CLI::App*, const std::string&, CLI::AppFormatMode mode) {
            return help(mode == CLI::AppFormatMode::All);
        });
    command.set_help_all_flag("--help-all");
}

void describe_option(CLI::App& command, const OptionText& text) {
    with_text(*command.get_option(text.name), text);
}

std::string help_of(const CLI::App& app) {
    return app.help();
}

Parsed parse(CLI::App& app, const std::vector<std::string>& arguments) {
    Parsed parsed;
    const auto command_read = [&app]() -> CLI::App* {
        const std::vector<CLI::App*> commands = app.get_subcommands();
        return commands.empty() ? nullptr : commands.front();
    };
    try {
        app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
    } catch (const CLI::ParseError& error) {
        const CLI::App* const command = command_read();
        if (error.get_exit_code() == 0)
            parsed.exit_code = app.exit(error);
        else
            parsed.fault = parse_fault(command == nullptr ? app : *command, error);
    }
    if (const CLI::App* const command = command_read()) parsed.command = command->get_name();
    return parsed;
}

}  // namespace aoti_dbg::cli
