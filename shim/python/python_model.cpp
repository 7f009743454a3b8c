#include "shim/python/python_model.hpp"

#include <memory>
#include <optional>
#include <utility>

#include "base/message.hpp"
#include "model/compiled_wrapper.hpp"
#include "shim/calls/compiled_model.hpp"
#include "shim/calls/model_evidence.hpp"
#include "shim/calls/models.hpp"
#include "shim/calls/parts.hpp"
#include "shim/check/checks.hpp"
#include "shim/python/torch_handles.hpp"
#include "shim/python/user_frame.hpp"
#include "shim/runtime/names.hpp"
#include "shim/runtime/process.hpp"
#include "shim/tensors/measured_model.hpp"

namespace aoti_dbg::python {
namespace {

void say_that_names_remain() {
    static bool said = false;  // guarded by the interpreter's lock
    if (!std::exchange(said, true))
        message(Severity::warn,
                "this PyTorch has no way to read tensors of functions that torch.compile compiled. Only "
                "their kernels' "
                "names are printed.");
}

}  // namespace

std::uint16_t add_python_model(std::string_view description) {
    std::optional<CompiledWrapper> wrapper = read_compiled_wrapper(description);
    if (!wrapper) return ring::kNoModel;
    auto own = std::make_unique<PythonModel>();
    own->title = title_of(wrapper->function);
    own->is_backward = wrapper->function.direction == "backward";
    own->run = intern_name(own->title, {});
    for (const CallSite& site : wrapper->info.run.sites) {
        own->names.push_back(intern_name(site.name, site.function));
        // The launch inside a Triton call is recorded on its own, with what the driver knows about it.
        own->kinds.push_back(site.kind == SiteKind::cpp ? ring::CallKind::cpp_kernel
                                                        : ring::CallKind::extern_op);
    }
    if (options().evidence) {
        own->description = description;
        own->torch = TorchHandles::library();
    }
    if (checking() && !wrapper->info.inputs.empty() && wrapper->info.expected.empty()) note_unchecked_model();
    auto parts = std::make_unique<Parts>();
    parts->add(std::move(own));
    parts->add(std::make_unique<CompiledModel>(std::move(wrapper->function)));
    if (any_feature_active()) {
        if (const std::optional<ShimApi> api = TorchHandles::api())
            parts->add(MeasuredModel::described(*api, std::move(wrapper->info), wrapper->is_on_cuda));
        else
            say_that_names_remain();
    }
    return add_described_model(wrapper->path, std::move(parts));
}

PythonModel* python_model(std::uint16_t number) {
    const Parts* const parts = model_parts(number);
    return parts == nullptr ? nullptr : parts->find<PythonModel>();
}

const Name* name_of_next_run(PythonModel& model) {
    constexpr std::size_t kMostCallers = 64;
    if (!options().triage && !finding()) return model.run;
    UserLine line = calling_line(model.is_backward);
    if (!line.is_known()) return model.run;
    for (const KnownCaller& known : model.callers)
        if (known.code.get() == line.code.get() && known.line == line.line) return known.run;
    if (model.callers.size() == kMostCallers) return model.run;
    const Name* const run = intern_name(name_of_run(model.title, line.text()), {});
    model.callers.push_back({std::move(line.code), line.line, run});
    return run;
}

void keep_evidence_once(std::uint16_t number) {
    PythonModel* const model = python_model(number);
    if (model == nullptr || !options().evidence || model->is_kept.exchange(true)) return;
    static const std::string no_source;
    keep_model_evidence({number, model_path(number), model->torch, no_source, model->description});
    model->description = {};
}

}  // namespace aoti_dbg::python
