// See description.hpp and describe.hpp.
#include "packaging/description.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <utility>

#include "packaging/describe.hpp"

namespace aoti_dbg::packaging {
namespace {

// In the order of option_table(), which must not carry these texts into the library.
constexpr const char* kDetails[] = {
#define AOTI_DBG_OPTION(field, variable, flag, form, group, frequency, value_name, values, standard, brief, \
                        details)                                                                            \
    details,
#include "config/options.def"
#undef AOTI_DBG_OPTION
};

void cut_front(std::string_view& text, std::string_view front) {
    if (text.starts_with(front)) text.remove_prefix(front.size());
}

/// Returns nullptr for an option that sets no variable, even if it has the name of one that does.
const OptionInfo* info_of(const DescribedOption& option) {
    const std::vector<OptionInfo>& table = option_table();
    const auto found = std::find_if(table.begin(), table.end(), [&option](const OptionInfo& info) {
        return info.flag == option.names.back() && info.brief == option.text;
    });
    return found == table.end() ? nullptr : &*found;
}

ValueKind kind_of(const DescribedOption& option, bool is_argument) {
    if (option.value_name == "DIR" || (is_argument && option.names.front() == "directory"))
        return ValueKind::directory;
    if (option.value_name == "FILE") return ValueKind::file;
    if (!option.words.empty()) return ValueKind::words;
    if (is_argument) return ValueKind::file;
    return option.value_name.empty() ? ValueKind::none : ValueKind::other;
}

DescribedOption described(const CLI::Option& option, const cli::Command* command, bool is_switch) {
    DescribedOption result;
    for (const std::string& name : option.get_snames())
        result.names.push_back("-" + name);
    for (const std::string& name : option.get_lnames())
        result.names.push_back("--" + name);
    const bool is_argument = result.names.empty();
    if (is_argument) result.names.push_back(option.get_name());
    result.text = option.get_description();
    result.group = option.get_group();
    result.info = is_argument ? nullptr : info_of(result);
    if (!is_switch) result.value_name = option.get_type_name();
    if (command != nullptr) result.words = command->words_of(option);
    if (result.words.empty() && result.info != nullptr && !is_switch)
        result.words = words_in_values(result.info->values);
    result.kind = is_switch ? ValueKind::none : kind_of(result, is_argument);
    return result;
}

bool is_switch(const CLI::Option& option) {
    return !option.get_positional() && option.get_expected_min() == 0;
}

DescribedCommand described(const CLI::App& app, const cli::Command* command) {
    DescribedCommand result;
    result.text = app.get_description();
    result.examples = app.get_footer();
    for (const CLI::Option* option : app.get_options()) {
        if (option->get_group().empty()) continue;
        DescribedOption one = described(*option, command, is_switch(*option));
        (option->get_positional() ? result.arguments : result.options).push_back(std::move(one));
    }
    if (command != nullptr) {
        result.name = command->name();
        result.starts_program = command->starts_program();
    }
    return result;
}

}  // namespace

Description describe(const CLI::App& app, const cli::Commands& commands) {
    Description result;
    result.general = described(app, nullptr);
    for (const auto& command : commands)
        result.commands.push_back(described(*app.get_subcommand(command->name()), command.get()));
    return result;
}

std::vector<std::string> words_in_values(std::string_view values) {
    constexpr std::string_view kOr = " or ";
    constexpr std::string_view kMore = " or more";
    std::vector<std::string> words;
    if (values.ends_with(kMore)) values.remove_suffix(kMore.size());
    while (!values.empty()) {
        const std::size_t comma = std::min(values.find(", "), values.size());
        const std::size_t either = std::min(values.find(kOr), values.size());
        std::string_view piece = values.substr(0, std::min(comma, either));
        values.remove_prefix(std::min(values.size(), comma < either ? comma + 2 : either + kOr.size()));
        cut_front(piece, "or ");
        cut_front(piece, "a list of ");
        const bool is_word = !piece.empty() && std::all_of(piece.begin(), piece.end(),
                                                           [](char c) { return c >= 'a' && c <= 'z'; });
        if (is_word) words.emplace_back(piece);
    }
    return words;
}

std::string_view details_of(const OptionInfo& info) {
    return kDetails[&info - option_table().data()];
}

}  // namespace aoti_dbg::packaging
