#include "shim/python/python_calls.hpp"

#include <cxxabi.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/errno_keeper.hpp"
#include "base/message.hpp"
#include "shim/calls/calls.hpp"
#include "shim/calls/run_failure.hpp"
#include "shim/calls/thread_state.hpp"
#include "shim/check/checks.hpp"
#include "shim/check/wrapper_checks.hpp"
#include "shim/python/python_lock.hpp"
#include "shim/python/python_model.hpp"
#include "shim/python/torch_handles.hpp"
#include "shim/runtime/process.hpp"

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
    opened.passed.is_interrupted = false;
    const OpenCall* const top = state.top();
    const bool is_skipped = top != nullptr && top->is_skipped && !opened.is_run;
    if (any_feature_active() && !is_skipped) TorchHandles::take(values, opened.passed);
    CallStart start = known;
    start.frame = frame;
    start.by_model = true;
    start.passage.values = &opened.passed;
    while_others_run([&] {
        close_unwound_calls(state, frame);
        opened.is_recorded = begin_call(state, start);
        if (opened.is_run && opened.is_recorded) keep_evidence_once(opened.model);
    });
    // The wrapper frees its inputs early, so they must not stay alive for the whole run.
    if (opened.is_run) TorchHandles::release(opened.passed);
}

void end(ThreadState& state, PythonThread& own) {
    const OpenPython& opened = *own.top();
    if (opened.is_recorded) while_others_run([&] { end_call(state, opened.frame, 0); });
    own.pop();
}

/// Returns false for exceptions such as KeyboardInterrupt.
bool handles_error() {
    Object* type = nullptr;
    Object* value = nullptr;
    Object* traceback = nullptr;
    api()->PyErr_GetExcInfo(&type, &value, &traceback);
    const bool is_error = value != nullptr && api()->PyObject_IsInstance(value, *api()->exception) == 1;
    for (Object* const each : {type, value, traceback})
        if (each != nullptr) api()->Py_DecRef(each);
    return is_error;
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
            text == nullptr ? ring::kNoModel : add_python_model({text, static_cast<std::size_t>(length)});
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
    std::optional<std::string> failure;
    Object* const none = guarded([&](ThreadState& state, PythonThread& own) {
        // An exception may have left calls open.
        while (own.top() != nullptr && !own.top()->is_run) {
            own.top()->passed.is_interrupted = !handles_error();
            own.pop();
        }
        if (own.top() == nullptr || own.top()->model != number_of(arguments[0])) return;
        TorchHandles::release(own.top()->passed);
        if (arguments[1] == api()->none) {  // an exception
            close_unwound_calls(state, own.top()->frame);
            return own.pop();
        }
        if (any_feature_active()) TorchHandles::take(arguments[1], own.top()->passed);
        const std::uint64_t mark = mark_of_run(state, own.top()->frame);
        end(state, own);
        failure = take_failure(state, mark);
    });
    if (!failure) return none;
    api()->Py_DecRef(none);
    api()->PyErr_SetString(*api()->runtime_error, failure->c_str());
    return nullptr;
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

std::vector<std::int64_t> integers_of(Object* tuple) {
    const std::ptrdiff_t count = api()->PySequence_Size(tuple);
    std::vector<std::int64_t> integers;
    for (std::ptrdiff_t i = 0; i < count; ++i) {
        const Reference element(api()->PySequence_GetItem(tuple, i));
        integers.push_back(element ? api()->PyLong_AsLongLong(element.get()) : -1);
    }
    return integers;
}

/// `layouts` has a tuple of sizes and one of strides for each tensor, or an empty one.
void check_all(ThreadState& state, AssertedTensor asserted, Object* tensors, Object* layouts) {
    PassedValues taken;
    TorchHandles::take(tensors, taken);
    for (std::size_t i = 0; i < taken.values.size(); ++i, ++asserted.number) {
        const Reference layout(api()->PySequence_GetItem(layouts, static_cast<std::ptrdiff_t>(i)));
        std::vector<std::int64_t> sizes;
        std::vector<std::int64_t> strides;
        asserted.has_layout = layout && api()->PySequence_Size(layout.get()) == 2;
        if (asserted.has_layout) {
            sizes = integers_of(Reference(api()->PySequence_GetItem(layout.get(), 0)).get());
            strides = integers_of(Reference(api()->PySequence_GetItem(layout.get(), 1)).get());
        }
        asserted.tensor = taken.values[i].tensor;
        asserted.sizes = sizes;
        asserted.strides = strides;
        // The wrapper's own assertion fails for what is no integer.
        const bool is_understood = api()->PyErr_Occurred() == nullptr;
        api()->PyErr_Clear();
        if (is_understood && asserted.tensor != nullptr)
            while_others_run([&] { check_asserted(state, asserted); });
    }
    TorchHandles::release(taken);
}

/// expect(model, number of the first one, tensors, layouts)
Object* expect(Object* /*self*/, Object* const* arguments, std::ptrdiff_t /*count*/) {
    return guarded([&](ThreadState& state, PythonThread& own) {
        AssertedTensor first;
        first.model = number_of(arguments[0]);
        first.number = number_of(arguments[1]);
        if (own.top() == nullptr || !own.top()->is_recorded || own.top()->model != first.model) return;
        check_all(state, first, arguments[2], arguments[3]);
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
    static std::array<Method, 7> functions = {Method{"add_model", add_model, kFastCall, nullptr},
                                              Method{"begin_run", begin_run, kFastCall, nullptr},
                                              Method{"end_run", end_run, kFastCall, nullptr},
                                              Method{"before", before, kFastCall, nullptr},
                                              Method{"after", after, kFastCall, nullptr},
                                              Method{"expect", expect, kFastCall, nullptr},
                                              Method{"complain", complain, kFastCall, nullptr}};
    return functions;
}

}  // namespace aoti_dbg::python
