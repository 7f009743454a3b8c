#include "shim/check/wrapper_checks.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/wrapper_info.hpp"
#include "shim/calls/thread_state.hpp"
#include "shim/check/call_finding.hpp"
#include "shim/check/checked_pointers.hpp"
#include "shim/check/mismatch.hpp"
#include "shim/tensors/call_tensors.hpp"
#include "shim/tensors/measured_model.hpp"

namespace aoti_dbg {
namespace {

constexpr const char* kInputAdvice =
    "pass the layout that the function was compiled for. No guard compiled it again: "
    "torch._inductor.compile, "
    "skip_guard_eval_unsafe, or a custom op whose fake implementation is wrong";
constexpr const char* kResultAdvice =
    "let the op's fake implementation (register_fake) return what the op returns. torch.library.opcheck "
    "compares them";

bool has_known_dtype(const SeenFacts& facts) {
    return facts.dtype.find(' ') == std::string::npos;
}

/// PyTorch's assertion ignores the strides of a tensor without elements.
InputGuard guard_of(const ExpectedTensor& expected, const AssertedTensor& asserted, const SeenFacts& facts) {
    InputGuard guard;
    guard.name = expected.name;
    guard.dtype = expected.dtype;
    for (const std::int64_t size : asserted.sizes)
        guard.sizes.push_back({true, size, size});
    if (facts.count != 0) guard.strides.assign(asserted.strides.begin(), asserted.strides.end());
    guard.strides.resize(guard.sizes.size(), -1);
    return guard;
}

/// Does the same as PyTorch's assert_alignment().
std::optional<Mismatch> wrong_alignment(const ExpectedTensor& expected, const SeenFacts& facts) {
    if (expected.alignment == 0 || !has_known_dtype(facts)) return std::nullopt;
    const std::uint64_t bytes =
        static_cast<std::uint64_t>(facts.storage_offset) * element_size(facts.measured_dtype);
    if (bytes % expected.alignment == 0) return std::nullopt;
    return Mismatch{"alignment", std::to_string(expected.alignment) + "-byte alignment",
                    "an offset of " + std::to_string(bytes) + " bytes in its storage", ""};
}

std::vector<Mismatch> compare(const ExpectedTensor& expected, const AssertedTensor& asserted,
                              const SeenFacts& facts) {
    std::vector<Mismatch> wrong;
    const bool is_equal = std::ranges::equal(asserted.sizes, facts.sizes) &&
                          std::ranges::equal(asserted.strides, facts.strides) &&
                          (expected.dtype.empty() || expected.dtype == facts.dtype);
    if (asserted.has_layout && !is_equal)
        wrong = compare_input(guard_of(expected, asserted, facts), true, facts);
    if (std::optional<Mismatch> misaligned = wrong_alignment(expected, facts))
        wrong.push_back(std::move(*misaligned));
    for (Mismatch& mismatch : wrong)
        mismatch.advice = expected.op.empty() ? kInputAdvice : kResultAdvice;
    return wrong;
}

/// Returns the call of the run that ended last, if it is the one at `site`. Its entry is the one above the
/// run.
const OpenCall* ended_call(const ThreadState& state, const OpenCall& run, std::uint32_t site) {
    if (state.depth == kDeepest) return nullptr;
    const OpenCall& ended = state.open[state.depth];
    return ended.around == &run && ended.run == run.run && ended.site == site ? &ended : nullptr;
}

Finding finding_for(ThreadState& state, const MeasuredModel& model, const OpenCall& run,
                    const ExpectedTensor& expected) {
    const OpenCall* const call = expected.site == kNone ? nullptr : ended_call(state, run, expected.site);
    Finding finding = finding_of(state, call == nullptr ? run : *call);
    finding.line = expected.line;
    if (!expected.op.empty()) finding.kernel = expected.op;
    if (const SitePlan* const plan = model.site(expected.site)) add_site(plan->facts, finding);
    return finding;
}

/// True if the call reads or writes the memory of the argument. A custom op may do neither: one of them
/// gives memory to a tensor that has none.
bool accesses(const SitePlan& plan, const CallArgument& argument) {
    return plan.site->kind != SiteKind::op || argument.facts->role == Role::reads;
}

std::optional<Mismatch> wrong_storage(const SeenFacts& facts) {
    if (facts.has_known_bytes || !facts.is_strided || !facts.sizes_known || facts.place == Place::elsewhere ||
        !has_known_dtype(facts))
        return std::nullopt;
    return compare_view({facts.sizes, facts.strides, facts.storage_offset, element_size(facts.measured_dtype),
                         facts.storage_bytes});
}

}  // namespace

void check_asserted(ThreadState& state, const AssertedTensor& asserted) {
    const OpenCall* const run = innermost_run(state);
    const MeasuredModel* const model = measured_model(asserted.model);
    if (run == nullptr || run->model != asserted.model || model == nullptr ||
        asserted.number >= model->info().expected.size())
        return;
    const ExpectedTensor& expected = model->info().expected[asserted.number];
    CallTensors& own = tensors_of(state);
    begin_finding(own);
    SeenTensor seen;
    if (!own.reader.read(model->api(), asserted.tensor, seen) || !seen.facts->is_strided) return;
    for (Mismatch& mismatch : compare(expected, asserted, *seen.facts)) {
        Finding finding = finding_for(state, *model, *run, expected);
        ArgumentFacts argument;
        argument.label = expected.name;
        argument.role = expected.op.empty() ? Role::reads : Role::makes;
        add_tensor(argument, seen.facts, finding);
        report_mismatch(std::move(finding), std::move(mismatch));
    }
}

void check_passed(ThreadState& state, const MeasuredModel& model, const OpenCall& call) {
    const SitePlan* const plan = model.site(call.site);
    if (plan == nullptr) return;
    CallTensors& own = tensors_of(state);
    find_arguments(own, model, call, When::before);
    for (std::size_t i = 0; i < own.found.size(); ++i) {
        const SeenTensor& tensor = own.tensors[i];
        if (!has_tensor(own, i, When::before, 0) || !accesses(*plan, own.found[i])) continue;
        std::optional<Mismatch> wrong = wrong_storage(*tensor.facts);
        if (!wrong && plan->site->kind == SiteKind::triton && tensor.address != 0)
            wrong = state.parts.get<CheckedPointers>().ask(tensor.address, 0, current_device());
        if (!wrong) continue;
        Finding finding = finding_of(state, call);
        add_site(plan->facts, finding);
        add_tensor(*own.found[i].facts, tensor.facts, finding);
        report_mismatch(std::move(finding), std::move(*wrong));
    }
}

}  // namespace aoti_dbg
