#include "cli/diff/diff_text.hpp"

#include <algorithm>

#include "cli/diff/difference_text.hpp"
#include "serializer/number_text.hpp"

namespace aoti_dbg::cli {
namespace {

using compare::Agreement;
using compare::Beginning;
using compare::Comparison;
using compare::Origin;

constexpr std::size_t kMostNames = 10;

std::string place_of(std::uint32_t call) {
    return call == kNoCallNumber ? "the run's inputs" : "call " + std::to_string(call);
}

std::string inputs_text(Agreement inputs) {
    switch (inputs) {
        case Agreement::equal:
            return "inputs equal";
        case Agreement::close:
            return "inputs within the tolerance";
        case Agreement::not_seen:
            return "no difference seen in the inputs";
        default:
            return "inputs not compared";
    }
}

std::string cause_text(const Beginning& found) {
    const std::string name = found.has_tensor ? name_of(found.first) : std::string();
    switch (found.origin) {
        case Origin::scalar:
            return "argument " + name + " differs";
        case Origin::constant:
            return "weight " + name + " differs";
        case Origin::memory:
            return "input " + name + " changed after " + place_of(found.last_equal) + ", where it agreed";
        case Origin::unseen:
            return "input " + name + " differs, and the call that wrote it was not recorded";
        case Origin::alone:
            return "input " + name + " differs, and a call that only one recording has wrote it";
        case Origin::result:
            return inputs_text(found.inputs) + ", the calls returned different results";
        default:
            return inputs_text(found.inputs) + ", output " + name + " differs";
    }
}

std::string place_of(const Beginning& found) {
    std::string text = "run " + std::to_string(found.run) + ", call " + std::to_string(found.call);
    if (found.run != found.other_run || found.call != found.other_call)
        text += " (other: run " + std::to_string(found.other_run) + ", call " +
                std::to_string(found.other_call) + ")";
    return text;
}

void append_source(const SiteFacts& site, std::string& out) {
    const auto list = [&](const char* title, const std::vector<std::string>& names) {
        std::string text;
        for (const std::string& name : names)
            text += (text.empty() ? "" : ", ") + shown(name);
        if (!text.empty()) out += std::string("  ") + title + text + "\n";
    };
    list("ops: ", site.original_aten);
    list("nodes: ", site.source_nodes);
}

void append_first(const Comparison& comparison, std::string& out) {
    const Beginning& first = comparison.beginnings.front();
    out += "first divergence: " + place_of(first) + ", " + shown(first.site.kernel) + " — " +
           cause_text(first) + "\n";
    if (first.has_tensor) {
        out += difference_text(first.first, first.second, first.grade, first.elements);
        const std::string spread = spread_text(first.spread, first.allowed);
        if (comparison.runs_by_derived_rule != 0 && !spread.empty()) out += "  " + spread + "\n";
    }
    append_source(first.site, out);
    if (!first.module.empty()) out += "  module: " + shown(first.module) + "\n";
    out += "  before that in the run: " + counted(first.equal_before, "call") + " equal bit by bit";
    if (first.close_before != 0) out += ", " + grouped(first.close_before) + " within the tolerance";
    if (first.seen_before != 0)
        out += ", " + grouped(first.seen_before) + " without a difference in their statistics";
    out += "\n  in all runs: " + counted(comparison.follow, "call") +
           (comparison.follow == 1 ? " differs" : " differ") + " because of an earlier difference, " +
           grouped(comparison.diverge - 1) + " more on " + (comparison.diverge == 2 ? "its" : "their") +
           " own\n";
}

void append_others(const Comparison& comparison, std::size_t limit, std::string& out) {
    if (comparison.diverge < 2) return;
    out += "other divergences:\n";
    const std::size_t end = std::min(comparison.beginnings.size(), std::max<std::size_t>(limit, 1));
    for (std::size_t i = 1; i < end; ++i) {
        const Beginning& found = comparison.beginnings[i];
        out += "  " + place_of(found) + ", " + shown(found.site.kernel) + " — " + cause_text(found) + "\n";
    }
    if (comparison.diverge > end) out += "  and " + grouped(comparison.diverge - end) + " more\n";
}

/// Lists the inputs of the first run that has other inputs.
void append_inputs(const Comparison& comparison, std::string& out) {
    if (comparison.inputs.empty()) return;
    const std::uint32_t run = comparison.inputs.front().run;
    out += "inputs differ in " + counted(comparison.runs_with_other_inputs, "run") + ", first in run " +
           std::to_string(run) + ":\n";
    std::size_t listed = 0;
    for (const compare::DifferentInput& input : comparison.inputs) {
        if (input.run != run) break;
        if (++listed > kMostNames) continue;
        out += difference_text(input.first, input.second, input.grade, input.elements);
    }
    if (listed > kMostNames) out += "  and more\n";
}

void append_without_partner(const char* where, std::uint64_t runs, std::uint64_t calls,
                            const std::vector<std::string>& names, std::string& out) {
    if (runs != 0) out += std::string("only in the ") + where + " recording: " + counted(runs, "run") + "\n";
    if (calls == 0) return;
    out += std::string("only in the ") + where + " recording: " + counted(calls, "call");
    for (std::size_t i = 0; i < std::min(names.size(), kMostNames); ++i)
        out += (i == 0 ? ": " : ", ") + shown(names[i]);
    out += calls > kMostNames ? ", ...\n" : "\n";
}

void append_counts(const Comparison& comparison, std::string& out) {
    out += "compared: " + counted(comparison.calls, "call") + " of " + counted(comparison.runs, "run") +
           ": " + grouped(comparison.equal) + " equal bit by bit";
    const auto add = [&](std::uint64_t number, const char* what) {
        if (number != 0) out += ", " + grouped(number) + " " + what;
    };
    add(comparison.close, "within the tolerance");
    add(comparison.not_seen, comparison.has_tolerance()
                                 ? "without a difference in their statistics above the tolerance"
                                 : "without a difference in their statistics");
    add(comparison.diverge, "where a difference begins");
    add(comparison.follow, "that pass it on");
    add(comparison.absorb, "with other inputs, but outputs that agree");
    add(comparison.unknown, "not measured, or only in part");
    out += '\n';
    if (comparison.runs_with_other_outputs != 0)
        out += "outputs differ in " + counted(comparison.runs_with_other_outputs, "run") + "\n";
    if (comparison.runs_without_outputs != 0)
        out += "outputs are not recorded in " + counted(comparison.runs_without_outputs, "run") + "\n";
    if (comparison.not_seen != 0 && !comparison.has_tolerance())
        out +=
            "Equal statistics do not prove equal tensors. Record with --record bits to compare bit by bit.\n";
    if (comparison.not_seen != 0 && comparison.has_tolerance())
        out +=
            "Statistics do not prove that all elements are close. Record with --record full to compare "
            "them.\n";
}

/// Says which rule decided.
std::string rule_text(const Comparison& comparison) {
    using compare::RuleKind;
    static constexpr const char* kDerived =
        "derived from dtypes, lengths of reductions, equal calls, and the differences of each call's inputs";
    switch (comparison.rule.kind) {
        case RuleKind::given:
            return "|Δ| <= " + number_text(comparison.rule.given.absolute) + " + " +
                   number_text(comparison.rule.given.relative) + " * |value of the second recording|";
        case RuleKind::dtype:
            return "by dtype, as torch.testing.assert_close";
        case RuleKind::derived:
            return kDerived;
        case RuleKind::automatic:
            if (comparison.runs_by_derived_rule != 0)
                return std::string(kDerived) + ", because the builds differ";
            return "none, because both look like the same build. --tolerance derived allows rounding";
        default:
            return "none";
    }
}

void append_verdict(const Comparison& comparison, std::string& out) {
    switch (comparison.verdict()) {
        case compare::Verdict::equal:
            out += "equal\n";
            return;
        case compare::Verdict::close:
            out += "equal within the tolerance\n";
            return;
        case compare::Verdict::not_seen:
            out += comparison.has_tolerance() ? "no difference above the tolerance seen\n"
                                              : "no difference seen\n";
            return;
        case compare::Verdict::different:
            out += comparison.runs_with_other_inputs != 0
                       ? "no divergence: every difference follows from the inputs\n"
                       : "no call diverges on its own\n";
    }
}

}  // namespace

std::string diff_text(const Comparison& comparison, std::size_t limit) {
    std::string out;
    append_inputs(comparison, out);
    if (comparison.beginnings.empty()) {
        append_verdict(comparison, out);
    } else {
        append_first(comparison, out);
        append_others(comparison, limit, out);
    }
    append_without_partner("first", comparison.only_first_runs, comparison.only_first_calls,
                           comparison.only_first, out);
    append_without_partner("second", comparison.only_second_runs, comparison.only_second_calls,
                           comparison.only_second, out);
    append_counts(comparison, out);
    return out + "tolerance: " + rule_text(comparison) + "\n";
}

}  // namespace aoti_dbg::cli
