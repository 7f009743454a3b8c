// The option table as data. Used to print it (`aoti-dbg run --help`, docs/reference/options.md) and to read
// options. Must not parse anything.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace aoti_dbg {

/// The types that a configuration file accepts besides a string.
enum class FileForm { none, string, number, list, number_or_list };

/// Returns a phrase for sentences, such as "a number or a string".
std::string_view form_in_words(FileForm form);

/// The groups of the help and the reference page, by what a reader wants to do, in this order.
enum class OptionGroup { see, select, output, wrong, cost, rest };
inline constexpr OptionGroup kOptionGroups[] = {OptionGroup::see,   OptionGroup::select, OptionGroup::output,
                                                OptionGroup::wrong, OptionGroup::cost,   OptionGroup::rest};

/// Returns the heading of a group, such as "What to see".
std::string_view title_of(OptionGroup group);

/// Common options appear on the first screen of the help.
enum class Frequency { common, rare };

struct OptionInfo {
    std::string_view field;
    std::string_view variable;       // ends in a NUL byte, for getenv
    std::string_view flag;           // flag of `aoti-dbg run`, or empty
    FileForm form = FileForm::none;  // none if a configuration file cannot set it
    OptionGroup group = OptionGroup::rest;
    Frequency frequency = Frequency::rare;
    std::string_view value_name;  // "FILE" in the help, empty for a switch
    std::string_view values;      // accepted values in words
    std::string_view standard;    // default as text, empty if unset
    std::string_view brief;       // one line of help

    /// Returns the name in a configuration file: the flag without dashes, or empty.
    [[nodiscard]] constexpr std::string_view key() const {
        return form == FileForm::none || flag.size() < 2 ? std::string_view() : flag.substr(2);
    }
};

/// Returns the table in the order of options.def, which is the order of reading.
const std::vector<OptionInfo>& option_table();

/// Says what is wrong with `value` for that option, or returns an empty string. A configuration file must
/// exist and contain a JSON object. Its entries are not checked.
std::string fault_of_value(std::string_view variable, std::string_view value);

}  // namespace aoti_dbg
