// Combines names, windows, sides and rules. Must stay a pure function.
#include "config/selection.hpp"

#include <algorithm>

namespace aoti_dbg {
namespace {

/// Returns whether `is_so` is true for the general levels or those of any rule.
template <typename Predicate>
bool any_levels(const Options& options, Predicate is_so) {
    return is_so(options.levels) ||
           std::any_of(options.rules.begin(), options.rules.end(),
                       [&](const Rule& rule) { return rule.levels && is_so(*rule.levels); });
}

bool is_checking_values(const Options& options) {
    return options.check && options.check->values();
}

}  // namespace

Check default_check(const Options& options, const Levels& levels) {
    Check check;
    check.nan = levels.stats || (levels.files && options.save_on == SaveOn::finding);
    return check;
}

Treatment treatment_of(const Options& options, std::string_view printed, std::string_view symbol) {
    Treatment treatment;
    treatment.levels = options.levels;
    treatment.runs = options.runs;
    treatment.calls = options.calls;
    treatment.side = options.side;
    bool switched_off = false;
    const auto rule = std::find_if(options.rules.begin(), options.rules.end(),
                                   [&](const Rule& each) { return each.kernels.match(printed, symbol); });
    if (rule != options.rules.end()) {
        treatment.levels = rule->levels.value_or(treatment.levels);
        switched_off = rule->levels && !rule->levels->any();
        treatment.runs = rule->runs.value_or(treatment.runs);
        treatment.calls = rule->calls.value_or(treatment.calls);
        treatment.side = rule->side.value_or(treatment.side);
    }
    if (!options.kernels.match(printed, symbol)) {
        treatment.levels = {};
    } else if (!switched_off) {
        treatment.check = options.check.value_or(default_check(options, treatment.levels));
    }
    treatment.compute();
    return treatment;
}

Selected select(const Options& options, const CallPlace& place) {
    const Treatment treatment = treatment_of(options, place.printed, place.symbol);
    return treatment.wants(place.run, place.call) ? treatment.sides : Selected{};
}

bool may_select(const Options& options) {
    return options.records_all() || options.timeline || (options.check && options.check->any()) ||
           any_levels(options, [](const Levels& levels) { return levels.any(); });
}

bool may_show(const Options& options) {
    return is_checking_values(options) ||
           any_levels(options, [](const Levels& levels) { return levels.any(); });
}

bool may_measure(const Options& options) {
    return is_checking_values(options) || any_levels(options, [&options](const Levels& levels) {
               return levels.stats || (!options.check && default_check(options, levels).any());
           });
}

bool checks_arguments(const Options& options) {
    return options.check ? options.check->args : options.triage;
}

bool looks_for_races(const Options& options) {
    return options.check && options.check->races;
}

bool may_find(const Options& options) {
    return may_measure(options) || checks_arguments(options) || looks_for_races(options);
}

bool may_save(const Options& options) {
    return any_levels(options, [](const Levels& levels) { return levels.files; });
}

bool may_remove_runs(const Options& options) {
    return options.keep_last != 0 || options.save_on == SaveOn::finding;
}

bool follows_unselected(const Options& options) {
    return options.scope == Scope::all || !options.calls.holds_everything() ||
           std::any_of(options.rules.begin(), options.rules.end(),
                       [](const Rule& rule) { return rule.calls && !rule.calls->holds_everything(); });
}

bool may_skip_runs(const Options& options) {
    return options.scope != Scope::all && !options.records_all() && !options.timeline &&
           !checks_arguments(options) && !looks_for_races(options);
}

bool may_select_run(const Options& options, std::uint64_t run) {
    return options.runs.holds(run) ||
           std::any_of(options.rules.begin(), options.rules.end(),
                       [run](const Rule& rule) { return rule.runs && rule.runs->holds(run); });
}

}  // namespace aoti_dbg
