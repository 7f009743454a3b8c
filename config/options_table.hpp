// The table of options as data, for who prints it (`aoti-dbg run --help`, docs/options.md). Parses nothing.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace aoti_dbg {

struct OptionInfo {
    std::string_view field;
    std::string_view variable;
    std::string_view flag;      // of `aoti-dbg run`; empty: none
    std::string_view values;    // what it takes, in words
    std::string_view standard;  // its default, as text; empty: unset
    std::string_view help;
};

/// In the order of options.def, which is the order of reading.
const std::vector<OptionInfo>& option_table();

/// What is wrong with `value` for that option, or an empty string.
std::string fault_of_value(std::string_view variable, std::string_view value);

}  // namespace aoti_dbg
