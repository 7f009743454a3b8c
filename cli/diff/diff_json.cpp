#include "cli/diff/diff_json.hpp"

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>

namespace aoti_dbg::cli {
namespace {

using Json = nlohmann::ordered_json;
using compare::Comparison;
using compare::RecordedTensor;

constexpr int kVersion = 1;

std::string_view word_of(compare::Grade grade) {
    static constexpr std::array<std::string_view, 6> kWords = {"none",   "shape", "statistics",
                                                               "values", "files", "hash"};
    return kWords[static_cast<std::size_t>(grade)];
}

std::string_view word_of(compare::Agreement agreement) {
    static constexpr std::array<std::string_view, 5> kWords = {"equal", "close", "no difference seen",
                                                               "unknown", "different"};
    return kWords[static_cast<std::size_t>(agreement)];
}

std::string_view word_of(compare::Origin origin) {
    static constexpr std::array<std::string_view, 8> kWords = {"none",   "call",   "scalar", "constant",
                                                               "memory", "unseen", "alone",  "result"};
    return kWords[static_cast<std::size_t>(origin)];
}

Json number(double value) {
    if (std::isnan(value)) return "NaN";
    if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
    return value;
}

Json side_of(const RecordedTensor& tensor) {
    Json json = Json::object();
    if (tensor.tensor == nullptr) {
        json["value"] = tensor.scalar;
        return json;
    }
    json["dtype"] = tensor.tensor->dtype;
    if (tensor.tensor->sizes_known) json["sizes"] = tensor.tensor->sizes;
    if (!wants(tensor.statistics.requested, Requested::printed)) return json;
    const Moments& all = tensor.statistics.real.all;
    json["mean"] = number(all.mean);
    json["std"] = number(all.standard_deviation);
    json["min"] = number(all.minimum.as_double());
    json["max"] = number(all.maximum.as_double());
    json["nan"] = tensor.statistics.real.nan;
    return json;
}

Json elements_of(const compare::ElementDifference& found) {
    return {{"count", found.elements},
            {"different", found.different},
            {"by_one_ulp", found.by_one_ulp},
            {"nan_in_one", found.nan_in_one},
            {"first", found.first},
            {"largest_absolute", number(found.largest_absolute)},
            {"largest_relative", number(found.largest_relative)},
            {"by_relative", found.by_relative}};
}

Json difference_of(const RecordedTensor& first, const RecordedTensor& second, compare::Grade grade,
                   const std::shared_ptr<const compare::ElementDifference>& elements) {
    Json json = Json::object();
    json["label"] = first.facts->label;
    if (!first.facts->original_fqn.empty()) json["fqn"] = first.facts->original_fqn;
    json["evidence"] = word_of(grade);
    json["first"] = side_of(first);
    json["second"] = side_of(second);
    if (elements != nullptr) json["elements"] = elements_of(*elements);
    return json;
}

Json spread_of(const compare::Spread& spread) {
    Json json = {{"shift", number(spread.shift)}, {"range", number(spread.range)}};
    if (!spread.has_elements) return json;
    json["typical"] = number(spread.typical);
    json["largest"] = number(spread.largest);
    return json;
}

Json beginning_of(const compare::Beginning& found, bool is_derived) {
    Json json = {{"run", found.run},
                 {"other_run", found.other_run},
                 {"call", found.call},
                 {"other_call", found.other_call},
                 {"model", found.model_name},
                 {"kernel", found.site.kernel},
                 {"line", found.site.line},
                 {"original_aten", found.site.original_aten},
                 {"source_nodes", found.site.source_nodes},
                 {"origin", word_of(found.origin)},
                 {"inputs", word_of(found.inputs)}};
    if (!found.module.empty()) json["module"] = found.module;
    if (found.origin == compare::Origin::memory)
        json["last_equal"] = found.last_equal == kNoCallNumber ? Json("inputs") : Json(found.last_equal);
    if (found.has_tensor)
        json["tensor"] = difference_of(found.first, found.second, found.grade, found.elements);
    if (found.has_tensor && is_derived) {
        json["spread"] = spread_of(found.spread);
        json["allowed"] = spread_of(found.allowed);
    }
    json["equal_before"] = found.equal_before;
    json["close_before"] = found.close_before;
    json["not_seen_before"] = found.seen_before;
    return json;
}

std::string_view word_of(compare::Verdict verdict) {
    static constexpr std::array<std::string_view, 4> kWords = {"equal", "close", "no difference seen",
                                                               "different"};
    return kWords[static_cast<std::size_t>(verdict)];
}

Json alone(std::uint64_t runs, std::uint64_t calls, const std::vector<std::string>& names) {
    return {{"runs", runs}, {"calls", calls}, {"kernels", names}};
}

/// The rule that decided, and for how many pairs of runs.
Json tolerance_of(const Comparison& comparison) {
    static constexpr std::array<std::string_view, 5> kWords = {"automatic", "bits", "given", "dtype",
                                                               "derived"};
    Json json = {{"rule", kWords[static_cast<std::size_t>(comparison.rule.kind)]},
                 {"derived_runs", comparison.runs_by_derived_rule}};
    if (comparison.rule.kind != compare::RuleKind::given) return json;
    json["rtol"] = comparison.rule.given.relative;
    json["atol"] = comparison.rule.given.absolute;
    return json;
}

}  // namespace

Json diff_document(const Comparison& comparison, std::size_t limit) {
    Json json = {
        {"format", "aoti-dbg-diff"}, {"version", kVersion}, {"verdict", word_of(comparison.verdict())}};
    json["tolerance"] = tolerance_of(comparison);
    json["runs"] = comparison.runs;
    json["calls"] = {{"compared", comparison.calls},       {"equal", comparison.equal},
                     {"close", comparison.close},          {"not_seen", comparison.not_seen},
                     {"diverge", comparison.diverge},      {"follow", comparison.follow},
                     {"absorb", comparison.absorb},        {"unknown", comparison.unknown},
                     {"other_bits", comparison.other_bits}};
    json["runs_with_other_inputs"] = comparison.runs_with_other_inputs;
    json["runs_with_other_outputs"] = comparison.runs_with_other_outputs;
    json["runs_without_outputs"] = comparison.runs_without_outputs;
    json["divergences"] = Json::array();
    for (const compare::Beginning& found : comparison.beginnings)
        if (json["divergences"].size() < limit)
            json["divergences"].push_back(beginning_of(found, comparison.runs_by_derived_rule != 0));
    json["inputs"] = Json::array();
    for (const compare::DifferentInput& input : comparison.inputs) {
        json["inputs"].push_back(difference_of(input.first, input.second, input.grade, input.elements));
        json["inputs"].back()["run"] = input.run;
    }
    json["only_first"] =
        alone(comparison.only_first_runs, comparison.only_first_calls, comparison.only_first);
    json["only_second"] =
        alone(comparison.only_second_runs, comparison.only_second_calls, comparison.only_second);
    return json;
}

std::string diff_json(const Comparison& comparison, std::size_t limit) {
    return diff_document(comparison, limit).dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace aoti_dbg::cli
