// See call_identifier.hpp.
#include "shim/tensors/call_identifier.hpp"

#include <memory>
#include <utility>

#include "base/message.hpp"
#include "shim/calls/calls.hpp"
#include "shim/calls/model_binding.hpp"
#include "shim/calls/parts.hpp"
#include "shim/calls/thread_state.hpp"
#include "shim/runtime/process.hpp"
#include "shim/tensors/call_tensors.hpp"
#include "shim/tensors/measured_model.hpp"

namespace aoti_dbg {

CallMoments CallIdentifier::moments() const {
    return {.identify = any_feature_active()};
}

void CallIdentifier::model_loads(const LoadedObject& object, Parts& parts, Inspected& inspected) const {
    if (!any_feature_active()) return;
    std::unique_ptr<MeasuredModel> model = MeasuredModel::read(object);
    if (model != nullptr) {
        parts.add(std::move(model));
        inspected.pointers = measuring() || saving() || ordering();
        return;
    }
    static bool said = false;  // guarded by the lock under which models load
    if (std::exchange(said, true)) return;
    message(Severity::warn,
            "the runtime that loads %s lacks functions that describe tensors. The model's arguments are not "
            "checked, measured or saved. At levels 1 and 2, kernel names are printed instead (level 3).",
            object.path.c_str());
}

[[gnu::hot]] void CallIdentifier::identify(ThreadState& state, OpenCall& call) const {
    if (!call.passage.any()) return;
    const OpenCall* const run = call.around;
    const bool is_of_run = run != nullptr && run != &call && run->model == call.model;
    call.measured = is_of_run && run->measured != nullptr ? run->measured : measured_model(call.model);
    if (call.passage.values != nullptr) {
        if (call.is_own && call.kind != ring::CallKind::run) call.site = call.passage.values->site;
        return;
    }
    if (call.kind == ring::CallKind::run && call.measured != nullptr)
        note_input_sizes(state, *call.measured, call);
    // The order of calls determines the sites, so unselected calls count too.
    if (call.measured == nullptr || !call.is_own || is_model_entry(call.kind) || run == nullptr) return;
    const CallMatcher::Match match =
        match_site(state, *call.measured, call.model, call.run, *call.name, call.passage);
    call.site = match.site;
    call.is_site_certain = match.is_certain;
}

}  // namespace aoti_dbg
