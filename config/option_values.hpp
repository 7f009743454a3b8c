// What the value of each option means: the table of options with the function that takes a value. Knows
// neither where a value comes from nor what else is set.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/options.hpp"
#include "config/options_table.hpp"

namespace aoti_dbg {

/// What is wrong with a value.
struct Fault {
    std::string why;         // the reason, where the expected values do not give it away
    std::string suggestion;  // a word near the one given, or empty
    std::string instead;     // a sentence without full stop on the value that was set nevertheless, or empty
};
using Taken = std::optional<Fault>;

/// A variable gives one text, a list in a file several: as if each had been given, in that order. None is
/// blank or has blanks at its ends.
using Texts = std::vector<std::string_view>;

struct OptionRow {
    OptionInfo info;
    /// Sets its part of `options`. On a fault nothing is set, unless the fault says what was taken instead.
    Taken (*take)(const Texts& texts, Options& options);
};

/// In the order of options.def.
std::span<const OptionRow> option_rows();

/// The part of a rule that an option corresponds to.
struct RulePart {
    std::string_view field;
    void (*set)(const Options& options, Rule& rule);
    void (*unset)(Rule& rule);
};
/// nullptr: a rule cannot say that.
const RulePart* rule_part(std::string_view field);

}  // namespace aoti_dbg
