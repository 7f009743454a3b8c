#include "shim/python/cpp_wrapper.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/errno_keeper.hpp"
#include "base/message.hpp"
#include "shim/calls/calls.hpp"
#include "shim/calls/models.hpp"
#include "shim/calls/parts.hpp"
#include "shim/calls/run_failure.hpp"
#include "shim/calls/thread_state.hpp"
#include "shim/python/python_api.hpp"
#include "shim/python/python_lock.hpp"
#include "shim/python/torch_handles.hpp"
#include "shim/runtime/loaded_object.hpp"
#include "shim/runtime/names.hpp"
#include "shim/runtime/process.hpp"
#include "shim/runtime/slots.hpp"
#include "shim/runtime/stub_frame.hpp"

namespace aoti_dbg {
namespace {

constexpr const char* kEntry = "inductor_entry_cpp";

/// The function passes its arguments as METH_VARARGS or METH_FASTCALL says. Returns null if it does not.
void* stub_of_entry(void* real, int flags) {
    const std::uint16_t model = model_at(real);
    if (model == ring::kNoModel) return nullptr;
    if (flags != python::kVariableArguments && flags != python::kFastCall) return nullptr;
    Slot requested;
    requested.real = real;
    requested.name = intern_name("torch.compile", {});
    requested.model = model;
    requested.integers = flags == python::kFastCall ? 3 : 2;
    requested.role = SlotRole::python_run;
    requested.kind = ring::CallKind::run;
    return stub_for(requested);
}

/// Puts a stub in front of the function with which Python runs the wrapper.
bool wrap_entry(const python::Api& api, python::Object* module) {
    const python::Reference entry(api.PyObject_GetAttrString(module, kEntry));
    void* const real = entry ? api.PyCFunction_GetFunction(entry.get()) : nullptr;
    if (real == nullptr) return false;
    const int flags = api.PyCFunction_GetFlags(entry.get());
    void* const stub = stub_of_entry(real, flags);
    if (stub == nullptr) return false;
    // Python keeps the address.
    auto* const methods = new std::array<python::Method, 2>();
    methods->front() = {kEntry, reinterpret_cast<decltype(python::Method::function)>(stub), flags, ""};
    return api.PyModule_AddFunctions(module, methods->data()) == 0;
}

void say_that_runs_are_missing() {
    static std::atomic<bool> said{false};
    if (!said.exchange(true))
        message(Severity::warn,
                "runs of a C++ wrapper of torch.compile are not intercepted: this PyTorch calls it in an "
                "unknown way. Only its kernels are.");
}

/// In the import slot of a wrapper, instead of the function that creates its module.
python::Object* create_module(void* definition, int version) {
    const python::Api& api = *python::api();
    python::Object* const module = api.PyModule_Create2(definition, version);
    const ErrnoKeeper errno_keeper;
    if (module == nullptr) return nullptr;
    bool is_wrapped = false;
    try {
        is_wrapped = wrap_entry(api, module);
    } catch (...) {
        switch_off("out of memory while reading a C++ wrapper");
    }
    api.PyErr_Clear();
    if (!is_wrapped) say_that_runs_are_missing();
    return module;
}

bool replace_creator(const void* init_function) {
    const std::optional<LoadedObject> object = object_at(init_function);
    bool is_replaced = false;
    if (!object) return false;
    for_each_import(*object, [&](const ImportSlot& import) {
        if (std::string_view(import.symbol) != "PyModule_Create2") return;
        is_replaced = write_slot(*object, import, reinterpret_cast<void*>(&create_module)).ok();
    });
    return is_replaced;
}

}  // namespace

void cpp_wrapper_found(const void* init_function) {
    const ErrnoKeeper errno_keeper;
    if (python::api() == nullptr) return;
    const std::uint16_t model = add_model_of(init_function, "PyInit_inductor_entry_cpp");
    if (model == ring::kNoModel) return;
    try {
        if (!replace_creator(init_function)) say_that_runs_are_missing();
    } catch (...) {
        switch_off("out of memory while binding a C++ wrapper");
    }
}

namespace python {
namespace {

/// The inputs or outputs of the runs that a thread is inside of. Entries are reused for their memory.
struct WrapperRuns {
    struct Run {
        std::uintptr_t frame = 0;
        PassedValues values;
    };
    std::vector<std::unique_ptr<Run>> open;
    std::size_t depth = 0;

    Run& push(std::uintptr_t frame) {
        // These never returned.
        while (depth != 0 && open[depth - 1]->frame <= frame)
            --depth;
        if (depth == open.size()) open.push_back(std::make_unique<Run>());
        Run& run = *open[depth++];
        run.frame = frame;
        run.values.values.clear();
        return run;
    }
};

/// Returns the list of handles that Python passes.
Object* inputs_of(const Slot& slot, const StubFrame& frame) {
    auto* const arguments = reinterpret_cast<Object*>(frame.integer(1));
    if (slot.integers == 3) return frame.integer(2) == 1 ? *reinterpret_cast<Object**>(arguments) : nullptr;
    const Reference first(api()->PySequence_GetItem(arguments, 0));
    if (!first) api()->PyErr_Clear();
    return first.get();  // the tuple keeps it
}

}  // namespace

bool begin_wrapper_run(ThreadState& state, const Slot& slot, const StubFrame& frame) {
    WrapperRuns::Run& run = state.parts.get<WrapperRuns>().push(frame.address());
    if (Object* const inputs = any_feature_active() ? inputs_of(slot, frame) : nullptr; inputs != nullptr)
        TorchHandles::borrow(inputs, run.values);
    CallStart start{slot.name, slot.kind, slot.model, frame.address(), 0, true};
    start.passage.slot = &slot;
    start.passage.values = &run.values;
    bool is_recorded = false;
    while_others_run([&] { is_recorded = begin_call(state, start); });
    run.values.values.clear();  // the wrapper frees its inputs early
    return is_recorded;
}

void end_wrapper_run(ThreadState& state, StubFrame& frame) {
    WrapperRuns& runs = state.parts.get<WrapperRuns>();
    while (runs.depth != 0 && runs.open[runs.depth - 1]->frame < frame.address())
        --runs.depth;
    if (runs.depth == 0 || runs.open[runs.depth - 1]->frame != frame.address()) return;
    WrapperRuns::Run& run = *runs.open[--runs.depth];
    auto* const outputs = reinterpret_cast<Object*>(frame.results[0]);
    if (outputs != nullptr && any_feature_active()) TorchHandles::borrow(outputs, run.values);
    const std::int32_t result = outputs == nullptr ? 1 : 0;
    const std::uint64_t mark = mark_of_run(state, frame.address());
    while_others_run([&] { end_call(state, frame.address(), result); });
    const std::optional<std::string> failure = take_failure(state, mark);
    if (!failure || outputs == nullptr) return;
    // Python does not take the outputs of a run that raises. A wrapper can return a handle twice.
    std::vector<PassedValue>& values = run.values.values;
    std::sort(values.begin(), values.end(), [](const PassedValue& one, const PassedValue& other) {
        return std::less<>()(one.tensor, other.tensor);
    });
    values.erase(std::unique(values.begin(), values.end(),
                             [](const PassedValue& one, const PassedValue& other) {
                                 return one.tensor == other.tensor;
                             }),
                 values.end());
    TorchHandles::release(run.values);
    api()->Py_DecRef(outputs);
    api()->PyErr_SetString(*api()->runtime_error, failure->c_str());
    frame.results[0] = 0;
}

}  // namespace python
}  // namespace aoti_dbg
