#include "cli/diff/diff.hpp"

#include <algorithm>
#include <memory>

#include "base/message.hpp"
#include "cli/diff/comparing.hpp"
#include "cli/diff/diff_json.hpp"
#include "cli/diff/diff_text.hpp"
#include "cli/diff/recording.hpp"
#include "cli/print.hpp"
#include "compare/comparison.hpp"

namespace aoti_dbg::cli {
namespace {

/// `second` is the reference.
std::optional<compare::Comparison> compare_reference(Recording& first, Recording& second,
                                                     const compare::Method& method) {
    std::vector<compare::RecordedRun> graphs;
    while (std::optional<compare::RecordedRun> graph = second.runs().next())
        graphs.push_back(std::move(*graph));
    const bool is_reference = std::ranges::any_of(graphs, [](const compare::RecordedRun& graph) {
        return !graph.calls.empty() && graph.calls.front().site->kind == "reference";
    });
    if (!is_reference) {
        error_message(ErrorCode::nothing_recorded,
                      "%s is not a reference. Write one with aoti_dbg.record_reference().",
                      second.path().c_str());
        return std::nullopt;
    }
    if (!second.conclude()) return std::nullopt;
    compare::Comparison comparison = compare::compare_with_reference(first.runs(), graphs, method);
    if (!first.conclude()) return std::nullopt;
    add_elements(method.evidence, comparison);
    return comparison;
}

std::optional<compare::Comparison> compare_pair(Recording& first, Recording& second, const RunPair& pair,
                                                const compare::Method& method) {
    compare::RepetitionsOfBoth repetitions;
    const std::optional<compare::RecordedRun> one = first.run(pair.first, repetitions.first);
    const std::optional<compare::RecordedRun> other =
        one ? second.run(pair.second, repetitions.second) : std::nullopt;
    if (!other) return std::nullopt;
    compare::Comparison comparison;
    comparison.rule = method.evidence.rule;
    compare::Method with_repetitions = method;
    with_repetitions.evidence.repetitions = &repetitions;
    compare::add_runs(*one, *other, with_repetitions, comparison);
    add_elements(method.evidence, comparison);
    return comparison;
}

bool has_evidence(const compare::Comparison& comparison) {
    return comparison.is_different() ||
           comparison.equal + comparison.close + comparison.not_seen + comparison.runs_with_seen_ends != 0;
}

}  // namespace

int diff(const DiffRequest& request) {
    const bool has_reference = !request.reference.empty();
    const std::unique_ptr<Recording> first = Recording::open(request.first);
    const std::unique_ptr<Recording> second =
        first == nullptr ? nullptr : Recording::open(has_reference ? request.reference : request.second);
    if (second == nullptr) return kTrouble;
    const compare::Method method = method_of(request, *first, *second);
    const std::optional<compare::Comparison> comparison =
        request.pair    ? compare_pair(*first, *second, *request.pair, method)
        : has_reference ? compare_reference(*first, *second, method)
                        : compare_all(*first, *second, method);
    if (!comparison) return kTrouble;
    if (!has_evidence(*comparison)) {
        error_message(ErrorCode::nothing_recorded,
                      comparison->runs == 0
                          ? "%s and %s have no pair of runs to compare. Change --runs, or record both again."
                          : "%s and %s have no measured calls to compare. Record both with --record bits.",
                      first->path().c_str(), second->path().c_str());
        return kTrouble;
    }
    const int printed = print(request.is_json ? diff_json(*comparison, request.limit)
                                              : diff_text(*comparison, request.limit));
    if (printed != 0) return kTrouble;
    return fails(*comparison, request) ? kDifferent : kEqual;
}

}  // namespace aoti_dbg::cli
