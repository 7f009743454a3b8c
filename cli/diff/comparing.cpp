#include "cli/diff/comparing.hpp"

#include <algorithm>

namespace aoti_dbg::cli {

compare::Method method_of(const DiffRequest& request, Recording& first, Recording& second) {
    compare::Method method{
        {request.rule, &first.tensors(), &second.tensors()}, {}, std::max<std::size_t>(request.limit, 1)};
    if (!request.reference.empty() && request.rule.kind == compare::RuleKind::automatic)
        method.evidence.rule.kind = compare::RuleKind::derived;
    if (!request.runs.holds_everything())
        method.scope.runs = [&request](std::uint32_t run) { return request.runs.holds(run); };
    if (!request.kernels.matches_everything())
        method.scope.calls = [&request](const SiteFacts& site) {
            return request.kernels.match(site.kernel, site.symbol);
        };
    return method;
}

void add_elements(const compare::Evidence& evidence, compare::Comparison& to) {
    constexpr std::size_t kMost = 10;
    for (std::size_t i = 0; i < std::min(to.beginnings.size(), kMost); ++i) {
        compare::Beginning& one = to.beginnings[i];
        if (!one.has_tensor || one.grade == compare::Grade::shape || one.elements != nullptr) continue;
        one.elements = compare::compare_elements(one.first, one.second, evidence);
    }
}

std::optional<compare::Comparison> compare_all(Recording& first, Recording& second,
                                               const compare::Method& method) {
    compare::Comparison comparison = compare::compare_recordings(first.runs(), second.runs(), method);
    if (!first.conclude() || !second.conclude()) return std::nullopt;
    add_elements(method.evidence, comparison);
    return comparison;
}

bool fails(const compare::Comparison& comparison, const DiffRequest& request) {
    const std::uint64_t other_bits = comparison.other_bits + comparison.runs_with_close_ends +
                                     comparison.only_first_calls + comparison.only_second_calls;
    return comparison.is_different() || (request.fails_on_bits && other_bits != 0);
}

}  // namespace aoti_dbg::cli
