// The table of options as data, for the code that prints it (`aoti-dbg run --help`,
// docs/reference/options.md) and the code that reads options. Must not parse anything.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace aoti_dbg {

/// What a configuration file may give besides a string.
enum class FileForm { none, string, number, list, number_or_list };

/// "a number or a string", for sentences.
std::string_view form_in_words(FileForm form);

/// Help and reference page list options by what a reader wants to do with them, in this order.
enum class OptionGroup { see, select, output, wrong, cost, rest };
inline constexpr OptionGroup kOptionGroups[] = {OptionGroup::see,   OptionGroup::select, OptionGroup::output,
                                                OptionGroup::wrong, OptionGroup::cost,   OptionGroup::rest};

/// "What to see", as a heading.
std::string_view title_of(OptionGroup group);

/// Common options are on the first screen of the help.
enum class Frequency { common, rare };

struct OptionInfo {
    std::string_view field;
    std::string_view variable;       // ends in a NUL byte, fit for getenv
    std::string_view flag;           // of `aoti-dbg run`; empty: none
    FileForm form = FileForm::none;  // none: it cannot be in a configuration file
    OptionGroup group = OptionGroup::rest;
    Frequency frequency = Frequency::rare;
    std::string_view value_name;  // "FILE", for the help; empty: the flag needs no value
    std::string_view values;      // what it takes, in words
    std::string_view standard;    // its default, as text; empty: unset
    std::string_view brief;       // a line of help

    /// Its name in a configuration file: the flag without dashes; empty: none.
    [[nodiscard]] constexpr std::string_view key() const {
        return form == FileForm::none || flag.size() < 2 ? std::string_view() : flag.substr(2);
    }
};

/// In the order of options.def, which is the order of reading.
const std::vector<OptionInfo>& option_table();

/// What is wrong with `value` for that option, or an empty string. A configuration file is looked for, and
/// must hold a JSON object; what that says is not judged.
std::string fault_of_value(std::string_view variable, std::string_view value);

}  // namespace aoti_dbg
