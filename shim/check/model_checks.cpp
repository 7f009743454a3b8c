#include "shim/check/model_checks.hpp"

#include <mutex>

#include "base/words.hpp"
#include "model/input_guards.hpp"
#include "shim/runtime/process.hpp"

namespace aoti_dbg {
namespace {

// The limit of containers per model with recorded constants. A deleted container is forgotten.
constexpr std::size_t kMostContainers = 4096;

}  // namespace

ModelChecks::ModelChecks(const WrapperInfo& info) : info_(info) {
    for (const InputGuard& guard : info.input_guards) {
        if (inputs_.size() <= guard.position) inputs_.resize(guard.position + 1);
        inputs_[guard.position] = {&guard, relies_on_strides(info.run, guard.name)};
    }
}

void ModelChecks::plan_launches(const std::vector<SitePlan>& sites) {
    for (const SitePlan& site : sites) {
        std::vector<LaunchPointer>& pointers = pointers_.emplace_back();
        if (site.site->kernel >= info_.triton_kernels.size()) continue;
        const TritonKernelInfo& kernel = info_.triton_kernels[site.site->kernel];
        for (std::uint32_t i = 0; i < kernel.launched.size(); ++i) {
            const std::uint32_t position = kernel.launched[i];
            if (position >= kernel.parameters.size()) continue;
            const TritonParameter& parameter = kernel.parameters[position];
            const PlannedArgument* argument = site.at(position);
            // A tensor descriptor is not a pointer, and is passed in parts.
            const bool is_pointer = !parameter.type.empty() && parameter.type[0] == '*';
            if (argument == nullptr || !is_pointer || argument->written->tensors.empty()) continue;
            pointers.push_back({i, parameter.alignment, pointer_count_++, argument});
        }
    }
}

void ModelChecks::note_update(const void* container, const std::string& function, std::int32_t result) {
    changes_.fetch_add(1, std::memory_order_release);
    const std::lock_guard lock(wiped_page().constants_mutex);
    if (constants_.size() >= kMostContainers && constants_.count(container) == 0) return;
    Constants& constants = constants_[container];
    if (result == 0) {
        constants = {true, {}, 0};
        return;
    }
    constants.failed = function;
    constants.error = result;
    has_failed_.store(true, std::memory_order_release);
}

void ModelChecks::forget(const void* container) {
    changes_.fetch_add(1, std::memory_order_release);
    const std::lock_guard lock(wiped_page().constants_mutex);
    constants_.erase(container);
}

std::optional<Mismatch> ModelChecks::wrong_constants(const void* container) const {
    const bool needs_some = !info_.has_weights && !info_.constants.empty();
    if (!needs_some && !has_failed_.load(std::memory_order_acquire)) return std::nullopt;
    const std::lock_guard lock(wiped_page().constants_mutex);
    const auto known = constants_.find(container);
    if (known != constants_.end() && !known->second.failed.empty())
        return Mismatch{"update of the constants", "a successful update of the constants",
                        "error " + std::to_string(known->second.error) + " of " + known->second.failed,
                        "check the arguments of the update: the run uses the old constants"};
    if (!needs_some || (known != constants_.end() && known->second.are_given)) return std::nullopt;
    if (constants_.size() >= kMostContainers) return std::nullopt;
    return Mismatch{"constants", counted(info_.constants.size(), "constant"),
                    "none (the package has none, and none were loaded)",
                    "load them before the first run (load_constants, UpdateConstantBuffer), or package them: "
                    "aot_inductor.package_constants_in_so"};
}

}  // namespace aoti_dbg
