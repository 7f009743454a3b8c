// See fixed_layouts.hpp.
#include "shim/tensors/fixed_layouts.hpp"

#include <algorithm>
#include <utility>

#include "shim/runtime/shim_table.hpp"
#include "shim/runtime/slots.hpp"
#include "shim/tensors/site_plan.hpp"

namespace aoti_dbg {
namespace {

/// True for numbers and lists of numbers, such as {8L, 16L}. A name is a symbol or is computed.
bool has_numbers_only(std::string_view text) {
    return text.find_first_not_of("0123456789L{}[](), ") == std::string_view::npos;
}

bool is_fixed(const Allocation& allocation) {
    const bool is_said = !allocation.sizes.empty() && !allocation.strides.empty();
    return is_said && allocation.pool.empty() && has_numbers_only(allocation.sizes) &&
           has_numbers_only(allocation.strides);
}

bool is_fixed(const WrittenView& view) {
    return has_numbers_only(view.sizes) && has_numbers_only(view.strides) && has_numbers_only(view.offset);
}

bool have_same_layout(const Allocation& one, const Allocation& other) {
    return one.sizes == other.sizes && one.strides == other.strides && one.dtype == other.dtype &&
           one.device == other.device;
}

bool is_size(std::string_view symbol) {
    return symbol.size() > 1 && (symbol[0] == 's' || symbol[0] == 'u') && symbol[1] >= '0' &&
           symbol[1] <= '9';
}

/// If sizes may change, a kernel over no elements is not launched, and the next call may pass for it. A name
/// may mean other memory in another branch, in the next pass of a loop, or in another function. A run that
/// folds constants makes their calls first, and these may pass for its own. Only the copy of a misaligned
/// input is harmless.
bool is_straight(const WrapperInfo& info) {
    const auto names_size = [](const auto& symbol) { return is_size(symbol.first); };
    const auto is_simple = [](const CallSite& site) {
        return !site.may_repeat && (site.region == kNone || site.kind == SiteKind::copy);
    };
    const bool may_fold = !info.folding.sites.empty() || !info.folding.allocations.empty();
    return info.is_complete && !may_fold && std::ranges::none_of(info.run.symbols, names_size) &&
           std::ranges::all_of(info.run.sites, is_simple) &&
           std::ranges::all_of(info.run.allocations,
                               [](const Allocation& one) { return one.region == kNone; });
}

/// Kernels get pointers.
bool only_writes(SiteKind kind) {
    return kind == SiteKind::triton || kind == SiteKind::user_triton || kind == SiteKind::cpp ||
           kind == SiteKind::device_kernel || kind == SiteKind::copy;
}

std::string key_of(const TensorName& tensor) {
    std::string key = tensor.name;
    if (!tensor.view) return key;
    for (const std::string& part :
         {tensor.view->sizes, tensor.view->strides, tensor.view->offset, tensor.view->dtype})
        key += '\n' + part;
    return key;
}

}  // namespace

FixedLayouts::FixedLayouts(const WrapperInfo& info) {
    if (!is_straight(info)) return;
    std::map<std::string_view, const Allocation*> all;
    for (const Allocation& allocation : info.run.allocations) {
        const auto [place, is_new] = all.emplace(allocation.name, &allocation);
        if (!is_fixed(allocation) || !have_same_layout(*place->second, allocation))
            reshaped_.insert(place->first);
        if (is_new) fixed_.emplace(allocation.name, allocation.name);
    }
    for (const ConstantInfo& constant : info.constants)
        if (!fixed_.emplace(constant.name, constant.name).second) reshaped_.insert(constant.name);
    all_memory_ = fixed_;
}

void FixedLayouts::share(const SharedMemory& shared) {
    if (unsized_.contains(memory_of(shared.of))) unsized_.insert(shared.name);
    const auto of = fixed_.find(shared.of);
    const bool keeps_layout =
        shared.how != SharedMemory::How::view || (shared.layout && is_fixed(*shared.layout));
    if (of == fixed_.end() || !keeps_layout) {
        fixed_.erase(shared.name);
        return;
    }
    const std::string_view memory = of->second;
    fixed_[shared.name] = memory;
    const auto [known, is_new] = all_memory_.emplace(shared.name, memory);
    if (!is_new && known->second != memory) reshaped_.insert({known->second, memory});
}

void FixedLayouts::note_call(const SitePlan& plan, const ShimSignature* shim) {
    const CallSite& site = *plan.site;
    if (only_writes(site.kind)) return;
    const bool is_aligned = shim != nullptr && shim->args.size() == site.arguments.size();
    const bool is_declared = is_aligned && !moves_tensors(shim->name);
    if (!is_declared && site.has_more_arguments) is_any_reshaped_ = true;
    const bool is_sized =
        is_declared && std::ranges::none_of(plan.arguments, [this](const auto& argument) {
            return !argument.written->tensors.empty() && unsized_.contains(memory_of(argument.label));
        });
    for (const PlannedArgument& argument : plan.arguments) {
        if (argument.written->tensors.empty()) continue;
        const bool is_kept = is_declared && argument.role != Role::makes;
        if (is_kept && (is_sized || argument.only_reads())) continue;
        const std::string_view memory = memory_of(argument.label);
        reshaped_.insert(memory);
        if (!is_sized) unsized_.insert(memory);
    }
}

std::uint32_t FixedLayouts::number_of(const TensorName& tensor) {
    if (!fixed_.contains(tensor.name) || (tensor.view && !is_fixed(*tensor.view))) return kNone;
    return numbers_.try_emplace(key_of(tensor), static_cast<std::uint32_t>(numbers_.size())).first->second;
}

bool FixedLayouts::stays(std::string_view name) const {
    return !is_any_reshaped_ && !reshaped_.contains(memory_of(name));
}

std::string_view FixedLayouts::memory_of(std::string_view name) const {
    const auto found = all_memory_.find(name);
    return found == all_memory_.end() ? name : found->second;
}

}  // namespace aoti_dbg
