#include "shim/tensors/measured_model.hpp"

#include <mutex>
#include <utility>

#include "model/call_sites.hpp"
#include "shim/calls/model_binding.hpp"
#include "shim/calls/models.hpp"
#include "shim/calls/parts.hpp"
#include "shim/runtime/loaded_object.hpp"
#include "shim/runtime/names.hpp"
#include "shim/runtime/process.hpp"
#include "shim/runtime/slots.hpp"

namespace aoti_dbg {
namespace {

// Each weight update brings new memory. A forgotten constant is not measured until the model fetches it
// again.
constexpr std::size_t kMostConstants = 65536;

}  // namespace

std::unique_ptr<MeasuredModel> MeasuredModel::read(const LoadedObject& object) {
    const void* const shim_function = shim_function_of(object);
    std::optional<ShimApi> api = shim_function == nullptr ? std::nullopt : find_shim_api(shim_function);
    if (!api) return nullptr;
    // A model that calls ops on CUDA creates a guard, so that they use the stream of its run.
    api->current_stream = find_current_stream(object);
    return std::unique_ptr<MeasuredModel>(new MeasuredModel(*api, read_call_sites_of(object.path),
                                                            is_cuda_model(object), release_of_model(object)));
}

std::unique_ptr<MeasuredModel> MeasuredModel::described(const ShimApi& api, WrapperInfo info,
                                                        bool is_on_cuda) {
    return std::unique_ptr<MeasuredModel>(
        new MeasuredModel(api, std::move(info), is_on_cuda, TorchRelease()));
}

MeasuredModel::MeasuredModel(const ShimApi& api, WrapperInfo info, bool is_on_cuda, TorchRelease release)
    : api_(api),
      is_on_cuda_(is_on_cuda),
      info_(std::move(info)),
      plan_(info_.run),
      allocation_names_(info_),
      sites_(make_site_plans(info_, release)) {
    for (const CallSite& site : info_.run.sites) {
        const std::uint32_t id = plan_.id_of(site.key);
        if (site.kind == SiteKind::op) {
            ops_.emplace(name_of_shim_function(site.function, release), id);
        } else if (site.kind != SiteKind::proxy && site.kind != SiteKind::dispatcher &&
                   site.kind != SiteKind::copy) {
            kernels_.emplace(site.name, id);
        }
    }
    std::unordered_map<std::string_view, const PlannedArgument*> known;
    for (SitePlan& site : sites_) {
        for (PlannedArgument& argument : site.arguments) {
            known.emplace(argument.label, &argument);
            if (argument.role == Role::makes)
                argument.returned_as = allocation_names_.returned(argument.label);
        }
        if (const auto launched = launched_at(site); !launched.empty())
            site.launched = plan_launch(site.by_position, launched);
    }
    const auto add = [&known](std::deque<PlannedArgument>& to, const std::string& label, Role role) {
        PlannedArgument& argument = to.emplace_back();
        argument.label = label;
        argument.position = static_cast<std::uint32_t>(to.size() - 1);
        argument.role = role;
        if (const auto found = known.find(label); found != known.end())
            argument.name_number = found->second->name_number;
    };
    for (const std::string& input : info_.inputs)
        add(inputs_, input, Role::reads);
    for (const TensorName& output : info_.run.outputs)
        add(outputs_, output.name, Role::makes);
}

std::uint32_t MeasuredModel::id_of(const Name* name) const {
    if (const auto op = ops_.find(name); op != ops_.end()) return op->second;
    const auto kernel = kernels_.find(name->printed);
    return kernel == kernels_.end() ? kNone : kernel->second;
}

std::span<const std::uint32_t> MeasuredModel::launched_at(const SitePlan& site) const {
    if (site.site->kernel >= info_.triton_kernels.size()) return {};
    return info_.triton_kernels[site.site->kernel].launched;
}

const PlannedArgument& MeasuredModel::input(std::size_t n) const {
    return n < inputs_.size() && !inputs_[n].label.empty() ? inputs_[n] : unknown_end(true, n);
}

const PlannedArgument& MeasuredModel::output(std::size_t n) const {
    return n < outputs_.size() && !outputs_[n].label.empty() ? outputs_[n] : unknown_end(false, n);
}

void MeasuredModel::note_constant(TensorHandle handle) {
    const std::lock_guard lock(wiped_page().constants_mutex);
    SeenTensor seen;
    if (!constant_reader_.read(api_, handle, seen) || seen.address == 0) return;
    if (constant_memory_.size() >= kMostConstants) constant_memory_.clear();
    if (std::exchange(constant_memory_[seen.address], seen.facts) != seen.facts)
        constants_changed_.fetch_add(1, std::memory_order_release);
}

bool MeasuredModel::has_constant_at(std::uint64_t address) const {
    const std::lock_guard lock(wiped_page().constants_mutex);
    return constant_memory_.count(address) != 0;
}

[[gnu::hot]] MeasuredModel* measured_model(std::uint16_t number) {
    const Parts* const parts = model_parts(number);
    return parts == nullptr ? nullptr : parts->find<MeasuredModel>();
}

bool MeasuredModel::constant_at(std::uint64_t address, SeenTensor& seen) const {
    const std::lock_guard lock(wiped_page().constants_mutex);
    const auto found = constant_memory_.find(address);
    if (found == constant_memory_.end()) return false;
    seen = {address, found->second};
    return true;
}

}  // namespace aoti_dbg
