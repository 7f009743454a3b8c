#include "shim/capture/op_capture.hpp"

#include <algorithm>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "shim/calls/session.hpp"
#include "shim/calls/thread_state.hpp"
#include "shim/capture/capture_part.hpp"
#include "shim/capture/op_arguments.hpp"
#include "shim/runtime/ended_context.hpp"
#include "shim/runtime/names.hpp"
#include "shim/runtime/slots.hpp"
#include "shim/tensors/call_tensors.hpp"
#include "shim/tensors/measured_model.hpp"

namespace aoti_dbg {
namespace {

bool is_op(std::string_view kind) {
    return kind == "op" || kind == "proxy_op" || kind == "dispatcher_op";
}

std::vector<LaunchArgument> arguments_of(const CallTensors& own, const OpenCall& call, const SitePlan* plan) {
    const Passage& passage = call.passage;
    if (passage.values != nullptr)
        return plan == nullptr ? std::vector<LaunchArgument>() : arguments_of_python(*passage.values, *plan);
    if (passage.slot == nullptr || passage.slot->shim == nullptr) return {};
    if (passage.slot->role == SlotRole::dispatcher) return {};
    if (passage.slot->role == SlotRole::proxy)
        return plan == nullptr ? std::vector<LaunchArgument>() : arguments_of_proxy(*passage.frame, *plan);
    return arguments_of_shim(*passage.slot->shim, *passage.frame, plan, own.found);
}

template <typename Type>
double number_at(const void* place) {
    Type value;
    std::memcpy(&value, place, sizeof value);
    return static_cast<double>(value);
}

/// Returns the value of a scalar that a launch passes. The text that is measured has few digits of a float.
std::string scalar_of(const CallArgument& found, std::span<const std::uint32_t> launched,
                      void* const* parameters) {
    const auto place = std::ranges::find(launched, found.facts->position);
    const std::string_view type =
        found.facts->written == nullptr ? std::string_view() : found.facts->written->type;
    if (place != launched.end() && parameters != nullptr) {
        const void* const at = parameters[place - launched.begin()];
        if (type == "fp32" || type == "f32") return python_real(number_at<float>(at));
        if (type == "fp64" || type == "f64") return python_real(number_at<double>(at));
    }
    return std::string(text_of(found.value).view());
}

std::string op_of(const OpenCall& call, const SitePlan* plan) {
    const Slot* const slot = call.passage.slot;
    if (slot != nullptr && slot->role == SlotRole::call && slot->shim != nullptr)
        return std::string(slot->shim->name.view());
    return plan != nullptr ? plan->site->name : call.name->printed;
}

}  // namespace

void take_tensors(const CallTensors& own, LaunchRecord& to) {
    for (std::size_t i = 0; i < own.found.size(); ++i) {
        if (!has_tensor(own, i, When::before, 0)) continue;
        const TensorFacts& facts = *own.tensors[i].facts;
        const PlannedArgument& argument = *own.found[i].facts;
        if (facts.is_strided && facts.sizes_known)
            to.tensors.push_back(
                {argument.label, argument.position, own.tensors[i].address, facts, argument.is_unwritten});
    }
}

void capture_op(ThreadState& state, const OpenCall& call) {
    if (!call.before.saved || call.measured == nullptr || !call.is_own) return;
    // Its tensors would not be saved.
    if (context_has_ended()) return;
    if (!is_op(site_facts(call.measured, call).kind)) return;
    CapturePart* const part = state.session->part<CapturePart>();
    if (part == nullptr) return;
    CallTensors& own = tensors_of(state);
    const SitePlan* const plan = call.measured->site(call.site);
    LaunchRecord launch;
    launch.kind = LaunchKind::op;
    launch.run = call.run;
    launch.call = call.number;
    launch.model = call.model;
    launch.kernel = site_facts(call.measured, call).kernel;
    launch.op = op_of(call, plan);
    if (plan != nullptr) launch.statement = plan->site->statement;
    if (has_arguments(call.passage)) {
        find_arguments(own, *call.measured, call, When::before);
        take_tensors(own, launch);
        launch.arguments = arguments_of(own, call, plan);
    }
    part->add(launch, nullptr);
}

void take_arguments(const CallTensors& own, const OpenCall& call, void* const* parameters, LaunchRecord& to) {
    const SitePlan* const plan = call.measured->site(call.site);
    if (plan == nullptr) return;
    to.statement = plan->site->statement;
    if (call.passage.values != nullptr) {
        to.arguments = arguments_of_python(*call.passage.values, *plan);
        return;
    }
    const std::span<const std::uint32_t> launched = call.measured->launched_at(*plan);
    for (const CallArgument& found : own.found) {
        LaunchArgument& argument = to.arguments.emplace_back();
        argument.parameter = found.facts->parameter;
        argument.position = found.facts->position;
        argument.role = found.facts->role;
        if (found.kind == CallArgument::Kind::scalar)
            argument.value = scalar_of(found, launched, parameters);
        else
            argument.labels.push_back(found.facts->label);
    }
}

}  // namespace aoti_dbg
