#include "shim/python/python_calls.hpp"

#include <cxxabi.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "base/errno_keeper.hpp"
#include "base/message.hpp"
#include "model/compiled_wrapper.hpp"
#include "shim/calls/calls.hpp"
#include "shim/calls/compiled_model.hpp"
#include "shim/calls/models.hpp"
#include "shim/calls/parts.hpp"
#include "shim/calls/thread_state.hpp"
#include "shim/python/torch_handles.hpp"
#include "shim/python/user_frame.hpp"
#include "shim/runtime/names.hpp"
#include "shim/runtime/process.hpp"
#include "shim/tensors/measured_model.hpp"

namespace aoti_dbg::python {
namespace {

/// A run or a call that Python has begun.
struct OpenPython {
    std::uintptr_t frame = 0;
    std::uint16_t model = 0;
    bool is_run = false;
    bool is_recorded = false;  // end_call() must follow
    PassedValues passed;
};

/// The part of a thread. Entries are reused for their memory.
struct PythonThread {
    std::vector<std::unique_ptr<OpenPython>> open;
    std::size_t depth = 0;

    OpenPython& push() {
        if (depth == open.size()) open.push_back(std::make_unique<OpenPython>());
        return *open[depth++];
    }
    [[nodiscard]] OpenPython* top() const { return depth == 0 ? nullptr : open[depth - 1].get(); }
    void pop() {
        TorchHandles::release(top()->passed);
        --depth;
    }
};

/// A line that called a model, with the name of such a run.
struct KnownCaller {
    Reference code;  // keeps its address
    std::int64_t line = 0;
    const Name* run = nullptr;
};

/// The kernels and runs of one model.
struct PythonModel {
    std::vector<const Name*> names;
    std::vector<ring::CallKind> kinds;
    std::string title;
    bool is_backward = false;
    const Name* run = nullptr;
    std::vector<KnownCaller> callers;  // guarded by the interpreter's lock
};

/// Other threads may run Python meanwhile: what the library does can wait for the device, or for a reader of
/// the log in another thread. Not if a call is only recorded, which never waits.
template <typename Work>
void while_others_run(Work work) {
    if (!any_feature_active() && !showing()) return work();
    void* const thread = api()->PyEval_SaveThread();
    try {
        work();
    } catch (...) {
        api()->PyEval_RestoreThread(thread);
        throw;
    }
    api()->PyEval_RestoreThread(thread);  // an interpreter that ends may end this thread here
}

/// The library orders calls by the stack pointers of their callers. The interpreter may run all functions in
/// one frame of its own, so calls inside a run get lower numbers. The first is above everything that the call
/// does, and below everything that led to it.
std::uintptr_t frame_below(const OpenPython* outer) {
    constexpr std::uintptr_t kPathFromInterpreter = 1024;
    constexpr std::uintptr_t kWord = 8;
    const std::uintptr_t here =
        reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)) + kPathFromInterpreter;
    return outer == nullptr ? here : std::min(here, outer->frame - kWord);
}

void begin(ThreadState& state, PythonThread& own, const CallStart& known, std::uint32_t site,
           Object* values) {
    const OpenPython* const outer = own.top();
    const std::uintptr_t frame = frame_below(outer);
    OpenPython& opened = own.push();
    opened.frame = frame;
    opened.is_run = known.kind == ring::CallKind::run;
    opened.model = known.model;
    opened.passed.site = site;
    if (any_feature_active()) TorchHandles::take(values, opened.passed);
    CallStart start = known;
    start.frame = frame;
    start.by_model = true;
    start.passage.values = &opened.passed;
    while_others_run([&] {
        close_unwound_calls(state, frame);
        opened.is_recorded = begin_call(state, start);
    });
    // The wrapper frees its inputs early, so they must not stay alive for the whole run.
    if (opened.is_run) TorchHandles::release(opened.passed);
}

void end(ThreadState& state, PythonThread& own) {
    const OpenPython& opened = *own.top();
    if (opened.is_recorded) while_others_run([&] { end_call(state, opened.frame, 0); });
    own.pop();
}

PythonModel* python_model(std::uint16_t number) {
    const Parts* const parts = model_parts(number);
    return parts == nullptr ? nullptr : parts->find<PythonModel>();
}

void say_that_names_remain() {
    static bool said = false;  // guarded by the interpreter's lock
    if (!std::exchange(said, true))
        message(Severity::warn,
                "this PyTorch has no way to read tensors of functions that torch.compile compiled. Only "
                "their kernels' "
                "names are printed.");
}

/// Returns the name of a run, with the user's line that called it if a report or a finding may need it.
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

std::uint16_t add(std::string_view json) {
    std::optional<CompiledWrapper> wrapper = read_compiled_wrapper(json);
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

/// The library was switched off within a run.
void forget_open() {
    ThreadState* const state = thread_state_if_any();
    PythonThread* const own = state == nullptr ? nullptr : state->parts.find<PythonThread>();
    while (own != nullptr && own->depth != 0)
        own->pop();
}

/// Runs `work` with the thread's state, unless the library is off. Keeps errno.
template <typename Work>
Object* guarded(Work work) {
    const ErrnoKeeper errno_keeper;
    Object* const none = api()->none;
    api()->Py_IncRef(none);
    if (!observing()) {
        forget_open();
        return none;
    }
    try {
        ThreadState* const state = thread_state();
        if (state != nullptr) work(*state, state->parts.get<PythonThread>());
    } catch (const abi::__forced_unwind&) {
        throw;  // the thread ends
    } catch (...) {
        switch_off("out of memory while recording a call of a Python wrapper");
    }
    return none;
}

std::uint16_t number_of(Object* object) {
    return static_cast<std::uint16_t>(api()->PyLong_AsLongLong(object));
}

Object* add_model(Object* /*self*/, Object* const* arguments, std::ptrdiff_t /*count*/) {
    std::int64_t number = -1;
    try {
        std::ptrdiff_t length = 0;
        const char* const text = api()->PyUnicode_AsUTF8AndSize(arguments[0], &length);
        const std::uint16_t added =
            text == nullptr ? ring::kNoModel : add({text, static_cast<std::size_t>(length)});
        if (added != ring::kNoModel) number = added;
        if (text == nullptr) api()->PyErr_Clear();
    } catch (...) {
        switch_off("out of memory while reading a Python wrapper");
    }
    return api()->PyLong_FromLongLong(number);
}

Object* begin_run(Object* /*self*/, Object* const* arguments, std::ptrdiff_t /*count*/) {
    return guarded([&](ThreadState& state, PythonThread& own) {
        const std::uint16_t number = number_of(arguments[0]);
        PythonModel* const model = python_model(number);
        if (model == nullptr) return;
        CallStart start;
        start.name = name_of_next_run(*model);
        start.kind = ring::CallKind::run;
        start.model = number;
        begin(state, own, start, kNone, arguments[1]);
    });
}

Object* end_run(Object* /*self*/, Object* const* arguments, std::ptrdiff_t /*count*/) {
    return guarded([&](ThreadState& state, PythonThread& own) {
        // An exception may have left calls open.
        while (own.top() != nullptr && !own.top()->is_run)
            own.pop();
        if (own.top() == nullptr || own.top()->model != number_of(arguments[0])) return;
        TorchHandles::release(own.top()->passed);
        if (arguments[1] == api()->none) {  // an exception
            close_unwound_calls(state, own.top()->frame);
            return own.pop();
        }
        if (any_feature_active()) TorchHandles::take(arguments[1], own.top()->passed);
        end(state, own);
    });
}

Object* before(Object* /*self*/, Object* const* arguments, std::ptrdiff_t /*count*/) {
    return guarded([&](ThreadState& state, PythonThread& own) {
        const std::uint16_t number = number_of(arguments[0]);
        const auto site = static_cast<std::uint32_t>(api()->PyLong_AsLongLong(arguments[1]));
        const PythonModel* const model = python_model(number);
        if (model == nullptr || site >= model->names.size()) return;
        if (own.top() != nullptr && !own.top()->is_run) own.pop();  // it never returned
        CallStart start;
        start.name = model->names[site];
        start.kind = model->kinds[site];
        start.model = number;
        begin(state, own, start, site, arguments[2]);
    });
}

Object* after(Object* /*self*/, Object* const* arguments, std::ptrdiff_t /*count*/) {
    return guarded([&](ThreadState& state, PythonThread& own) {
        if (own.top() == nullptr || own.top()->is_run) return;
        if (own.top()->is_recorded && any_feature_active())
            TorchHandles::take(arguments[2], own.top()->passed);
        end(state, own);
    });
}

Object* complain(Object* /*self*/, Object* const* arguments, std::ptrdiff_t /*count*/) {
    const char* const text = api()->PyUnicode_AsUTF8AndSize(arguments[0], nullptr);
    if (text == nullptr)
        api()->PyErr_Clear();
    else
        message(Severity::warn,
                "a wrapper of torch.compile is not intercepted, because it could not be read: %s", text);
    api()->Py_IncRef(api()->none);
    return api()->none;
}

}  // namespace

std::span<Method> door_functions() {
    static std::array<Method, 6> functions = {Method{"add_model", add_model, kFastCall, nullptr},
                                              Method{"begin_run", begin_run, kFastCall, nullptr},
                                              Method{"end_run", end_run, kFastCall, nullptr},
                                              Method{"before", before, kFastCall, nullptr},
                                              Method{"after", after, kFastCall, nullptr},
                                              Method{"complain", complain, kFastCall, nullptr}};
    return functions;
}

}  // namespace aoti_dbg::python
