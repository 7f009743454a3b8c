// The option table with a function per option. See option_readers.hpp for these.
#include "config/option_values.hpp"

#include "config/option_readers.hpp"

namespace aoti_dbg {
namespace {

constexpr OptionRow kRows[] = {
#define AOTI_DBG_OPTION(field, variable, flag, form, group, frequency, value_name, values, standard, brief, \
                        details)                                                                            \
    {{#field, variable, flag, FileForm::form, OptionGroup::group, Frequency::frequency, value_name, values, \
      standard, brief},                                                                                     \
     option_values::take_##field},
#include "config/options.def"
#undef AOTI_DBG_OPTION
};

void unset_levels(Rule& rule) {
    rule.levels.reset();
}

constexpr RulePart kRuleParts[] = {
    // A rule's kernels define where it applies, so the option of that name does not replace them.
    {"kernels", [](const Options& options, Rule& rule) { rule.kernels = options.kernels; }, [](Rule&) {}},
    {"pytorch_level", [](const Options& options, Rule& rule) { rule.levels = options.levels; }, unset_levels},
    {"level", [](const Options& options, Rule& rule) { rule.levels = options.levels; }, unset_levels},
    {"runs", [](const Options& options, Rule& rule) { rule.runs = options.runs; },
     [](Rule& rule) { rule.runs.reset(); }},
    {"calls", [](const Options& options, Rule& rule) { rule.calls = options.calls; },
     [](Rule& rule) { rule.calls.reset(); }},
    {"side", [](const Options& options, Rule& rule) { rule.side = options.side; },
     [](Rule& rule) { rule.side.reset(); }},
};

}  // namespace

std::span<const OptionRow> option_rows() {
    return kRows;
}

const RulePart* rule_part(std::string_view field) {
    for (const RulePart& part : kRuleParts)
        if (part.field == field) return &part;
    return nullptr;
}

}  // namespace aoti_dbg
