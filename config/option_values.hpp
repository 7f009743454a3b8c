// Defines what the value of each option means: the option table with a parse function per option. Must not
// know where a value comes from or what else is set.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/options.hpp"
#include "config/options_table.hpp"

namespace aoti_dbg {

/// Says what is wrong with a value.
struct Fault {
    std::string why;         // the reason, if the expected values do not show it
    std::string suggestion;  // a known word near the given one, or empty
    std::string instead;     // sentence without full stop: the value used instead, or empty
};
using Taken = std::optional<Fault>;

/// The texts of a value. A variable has one text and a list in a file several, as if each had been given in
/// order. No text is blank or has blanks at its ends.
using Texts = std::vector<std::string_view>;

struct OptionRow {
    OptionInfo info;
    /// Sets its part of `options`. On a fault it sets nothing, unless the fault names the value used instead.
    Taken (*take)(const Texts& texts, Options& options);
};

/// Returns the rows in the order of options.def.
std::span<const OptionRow> option_rows();

/// The part of a rule that corresponds to an option.
struct RulePart {
    std::string_view field;
    void (*set)(const Options& options, Rule& rule);
    void (*unset)(Rule& rule);
};
/// Returns nullptr if rules do not support the option.
const RulePart* rule_part(std::string_view field);

}  // namespace aoti_dbg
