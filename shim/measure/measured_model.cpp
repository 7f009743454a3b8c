#include "shim/measure/measured_model.hpp"

#include <cstring>
#include <mutex>
#include <utility>

#include "model/call_sites.hpp"
#include "shim/bind/loaded_object.hpp"
#include "shim/bind/model_binding.hpp"
#include "shim/bind/slots.hpp"
#include "shim/observe/names.hpp"
#include "shim/observe/process.hpp"

namespace aoti_dbg {
namespace {

// Updates of weights bring new memory each time; what is forgotten is not measured until it is asked for.
constexpr std::size_t kMostConstants = 65536;

constexpr std::string_view kAnyShimFunction = "aoti_torch_";

}  // namespace

std::unique_ptr<MeasuredModel> MeasuredModel::read(const LoadedObject& object) {
    const void* shim_function = nullptr;
    for_each_import(object, [&](const ImportSlot& import) {
        if (shim_function != nullptr || import.own_definition != 0) return;
        const std::string_view symbol = import.symbol;
        if (symbol.substr(0, kAnyShimFunction.size()) == kAnyShimFunction && !is_stub(*import.address))
            shim_function = real_behind(object, import);
    });
    std::optional<ShimApi> api = shim_function == nullptr ? std::nullopt : find_shim_api(shim_function);
    if (!api) return nullptr;
    return std::unique_ptr<MeasuredModel>(new MeasuredModel(*api, read_call_sites_of(object.path)));
}

MeasuredModel::MeasuredModel(const ShimApi& api, WrapperInfo info)
    : api_(api), info_(std::move(info)), plan_(info_.run) {
    std::unordered_set<std::string> known(info_.inputs.begin(), info_.inputs.end());
    for (const ConstantInfo& constant : info_.constants)
        constants_.insert(constant.name);
    known.insert(constants_.begin(), constants_.end());
    for (const Allocation& allocation : info_.run.allocations)
        known.insert(allocation.name);
    for (const SharedMemory& shared : info_.run.shared_memory)
        known.insert(shared.name);
    for (std::uint32_t number = 0; number < info_.run.sites.size(); ++number) {
        const CallSite& site = info_.run.sites[number];
        if (site.kind == CallKind::op) {
            ids_.emplace(name_of_shim_function(site.function), plan_.id_of(site.key));
        } else if (site.kind == CallKind::cpp) {
            ids_.emplace(intern_name(site.name, {}), plan_.id_of(site.key));
        }
        for (const Argument& argument : site.arguments) {
            for (const TensorName& tensor : argument.tensors) {
                if (known.insert(tensor.name).second && site.kind == CallKind::proxy)
                    made_by_[number].insert(tensor.name);
            }
        }
    }
}

std::uint32_t MeasuredModel::id_of(const Name* name) const {
    const auto found = ids_.find(name);
    return found == ids_.end() ? kNone : found->second;
}

const CallSite* MeasuredModel::site(std::uint32_t number) const {
    return number < info_.run.sites.size() ? &info_.run.sites[number] : nullptr;
}

bool MeasuredModel::is_made_by(std::uint32_t site, const std::string& label) const {
    const auto made = made_by_.find(site);
    return made != made_by_.end() && made->second.count(label) != 0;
}

void MeasuredModel::note_constant(TensorHandle handle) {
    TensorInfo info;
    if (!read_tensor(api_, handle, info) || info.data == nullptr) return;
    const std::lock_guard lock(wiped_page().constants_mutex);
    if (constant_memory_.size() >= kMostConstants) constant_memory_.clear();
    constant_memory_[info.data] = std::move(info);
}

bool MeasuredModel::constant_at(const void* address, TensorInfo& info) const {
    const std::lock_guard lock(wiped_page().constants_mutex);
    const auto found = constant_memory_.find(address);
    if (found == constant_memory_.end()) return false;
    info = found->second;
    return true;
}

}  // namespace aoti_dbg
