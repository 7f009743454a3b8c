#include "cli/diff/diff_text.hpp"

#include <algorithm>

#include "compare/element_difference.hpp"
#include "config/words.hpp"
#include "serializer/event_compact.hpp"
#include "serializer/number_text.hpp"

namespace aoti_dbg::cli {
namespace {

using compare::Agreement;
using compare::Beginning;
using compare::Comparison;
using compare::Grade;
using compare::Origin;
using compare::RecordedTensor;

constexpr std::size_t kMostNames = 10;

std::string grouped(std::uint64_t number) {
    std::string text = std::to_string(number);
    for (std::size_t at = text.size(); at > 3;) {
        at -= 3;
        text.insert(at, 1, ',');
    }
    return text;
}

std::string counted(std::uint64_t number, const char* what) {
    return grouped(number) + " " + what + (number == 1 ? "" : "s");
}

std::string shown(const std::string& name) {
    return printable(name, 200);
}

/// Returns the name of a weight as the program knows it.
std::string name_of(const RecordedTensor& tensor) {
    const std::string& fqn = tensor.facts->original_fqn;
    return shown(fqn.empty() ? tensor.facts->label : fqn);
}

std::string place_of(std::uint32_t call) {
    return call == kNoCallNumber ? "the run's inputs" : "call " + std::to_string(call);
}

/// Returns the index of an element by its sizes: [0, 17, 300].
std::string index_text(std::uint64_t logical, const TensorFacts& facts) {
    std::string text = "]";
    for (std::size_t i = facts.sizes.size(); i-- > 0;) {
        const auto size = static_cast<std::uint64_t>(std::max<std::int64_t>(facts.sizes[i], 1));
        text.insert(0, (i == 0 ? "" : ", ") + std::to_string(logical % size));
        logical /= size;
    }
    return "[" + text;
}

std::string elements_text(const TensorFacts& facts, const compare::ElementDifference& found) {
    if (found.different == 0) return "only bits of NaNs differ";
    std::string text = grouped(found.different) + " of " + counted(found.elements, "element") +
                       (found.different == 1 ? " differs" : " differ") + ", max |Δ| " +
                       number_text(found.largest_absolute);
    if (found.by_one_ulp != 0) text += " (1 ulp: " + grouped(found.by_one_ulp) + ")";
    if (found.nan_in_one != 0) text += ", NaN in only one recording: " + grouped(found.nan_in_one);
    return text + ", first at " + index_text(found.first, facts);
}

/// The digits of the log, or all of them.
enum class Digits : std::uint8_t { printed, all };

std::string text_of(double number, Digits digits) {
    if (digits == Digits::printed) return number_text(number);
    std::string text;
    append_shortest(number, text);
    return text;
}

std::string changes_text(const TensorStatistics& one, const TensorStatistics& other, Digits digits) {
    std::string text;
    const auto change = [&](const char* name, double first, double second) {
        const std::string before = text_of(first, digits);
        const std::string after = text_of(second, digits);
        if (before == after) return;
        text.append(text.empty() ? "" : ", ")
            .append(name)
            .append(" ")
            .append(before)
            .append(" → ")
            .append(after);
    };
    const auto count = [&](const char* name, std::uint64_t first, std::uint64_t second) {
        change(name, static_cast<double>(first), static_cast<double>(second));
    };
    const auto add = [&](const RealStatistics& a, const RealStatistics& b, bool is_printed) {
        count("NaN", a.nan, b.nan);
        count("+Inf", a.positive_infinity, b.positive_infinity);
        count("-Inf", a.negative_infinity, b.negative_infinity);
        if (!is_printed) return;
        count("zeros", a.zeros, b.zeros);
        change("mean", a.all.mean, b.all.mean);
        change("std", a.all.standard_deviation, b.all.standard_deviation);
        change("min", a.all.minimum.as_double(), b.all.minimum.as_double());
        change("max", a.all.maximum.as_double(), b.all.maximum.as_double());
    };
    const bool is_printed =
        wants(one.requested, Requested::printed) && wants(other.requested, Requested::printed);
    add(one.real, other.real, is_printed);
    if (is_complex(one.dtype)) add(one.imaginary, other.imaginary, is_printed);
    return text;
}

/// Says how both differ, as precisely as the recordings allow.
std::string difference_text(const RecordedTensor& first, const RecordedTensor& second, Grade grade,
                            const std::optional<compare::ElementDifference>& elements) {
    if (first.tensor == nullptr || second.tensor == nullptr)
        return shown(first.facts->label) + ": " + shown(first.scalar) + " → " + shown(second.scalar);
    std::string text = shown(first.facts->label) + " " + short_text(*first.tensor);
    if (grade == Grade::shape) return text + " → " + short_text(*second.tensor);
    text += ": ";
    if (elements) return text + elements_text(*first.tensor, *elements);
    for (const Digits digits : {Digits::printed, Digits::all}) {
        const std::string changes = changes_text(first.statistics, second.statistics, digits);
        if (!changes.empty()) return text + changes;
    }
    return text + (grade == Grade::hash ? "the bits differ, and the printed statistics are equal"
                                        : "the sum or the place of the minimum or maximum differs");
}

std::string inputs_text(Agreement inputs) {
    switch (inputs) {
        case Agreement::equal:
            return "inputs equal";
        case Agreement::not_seen:
            return "no difference seen in the inputs";
        default:
            return "inputs not recorded";
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
            return "input " + name + " changed after " + place_of(found.last_equal) + ", where it was equal";
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
        text += " (there: run " + std::to_string(found.other_run) + ", call " +
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
    if (first.has_tensor)
        out += "  " + difference_text(first.first, first.second, first.grade, first.elements) + "\n";
    append_source(first.site, out);
    out += "  before that in the run: " + counted(first.equal_before, "call") + " equal bit by bit";
    if (first.seen_before != 0)
        out += ", " + grouped(first.seen_before) + " without a difference in their statistics";
    out += "\n  in all runs: " + counted(comparison.follow, "call") +
           (comparison.follow == 1 ? " differs" : " differ") + " because of an earlier difference, " +
           grouped(comparison.diverge - 1) + " more on " + (comparison.diverge == 2 ? "its" : "their") +
           " own\n";
}

void append_others(const Comparison& comparison, std::string& out) {
    if (comparison.beginnings.size() < 2) return;
    out += "other divergences:\n";
    const std::size_t end = std::min(comparison.beginnings.size(), kMostNames + 1);
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
        out += "  " + difference_text(input.first, input.second, input.grade, input.elements) + "\n";
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
    add(comparison.not_seen, "without a difference in their statistics");
    add(comparison.diverge, "where a difference begins");
    add(comparison.follow, "that pass it on");
    add(comparison.absorb, "with other inputs and equal outputs");
    add(comparison.unknown, "not measured, or only in part");
    out += '\n';
    if (comparison.runs_with_other_outputs != 0)
        out += "outputs differ in " + counted(comparison.runs_with_other_outputs, "run") + "\n";
    if (comparison.runs_without_outputs != 0)
        out += "outputs are not recorded in " + counted(comparison.runs_without_outputs, "run") + "\n";
    if (comparison.not_seen != 0)
        out +=
            "Equal statistics do not prove equal tensors. Record with --record bits to compare bit by bit.\n";
}

}  // namespace

std::string diff_text(const Comparison& comparison) {
    std::string out;
    append_inputs(comparison, out);
    if (!comparison.beginnings.empty()) {
        append_first(comparison, out);
        append_others(comparison, out);
    } else if (comparison.runs_with_other_inputs != 0) {
        out += "no divergence: every difference follows from the inputs\n";
    } else if (comparison.is_different()) {
        out += "no call diverges on its own\n";
    } else {
        out += comparison.verdict() == compare::Verdict::equal ? "equal\n" : "no difference seen\n";
    }
    append_without_partner("first", comparison.only_first_runs, comparison.only_first_calls,
                           comparison.only_first, out);
    append_without_partner("second", comparison.only_second_runs, comparison.only_second_calls,
                           comparison.only_second, out);
    append_counts(comparison, out);
    return out;
}

}  // namespace aoti_dbg::cli
