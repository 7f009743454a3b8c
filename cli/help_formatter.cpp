// See help_formatter.hpp.
#include "cli/help_formatter.hpp"

#include <utility>

#include "base/words.hpp"
#include "triage/render/wrapped_text.hpp"

namespace aoti_dbg::cli {
namespace {

constexpr std::size_t kWidth = 80;
constexpr std::size_t kColumn = 22;  // where descriptions begin

}  // namespace

HelpFormatter::HelpFormatter() {
    column_width(kColumn);
    label("Positionals", "Arguments");
    label("SUBCOMMAND", "COMMAND");
}

std::string HelpFormatter::make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const {
    std::string text = CLI::Formatter::make_help(app, std::move(name), mode);
    // CLI11 leaves blank lines for groups that have no visible option.
    for (std::size_t at = text.find("\n\n\n"); at != std::string::npos; at = text.find("\n\n\n", at))
        text.erase(at, 1);
    while (text.size() > 1 && text.compare(text.size() - 2, 2, "\n\n") == 0)
        text.pop_back();
    return text;
}

std::string HelpFormatter::make_usage(const CLI::App* app, std::string name) const {
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

std::string HelpFormatter::make_option_desc(const CLI::Option* option) const {
    return joined(wrapped(option->get_description(), kWidth - kColumn), "\n");
}

}  // namespace aoti_dbg::cli
