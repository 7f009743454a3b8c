#include "shim/calls/run_failure.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "shim/calls/calls.hpp"
#include "shim/calls/thread_state.hpp"
#include "shim/runtime/loaded_object.hpp"

namespace aoti_dbg {
namespace {

constexpr std::uint64_t kFailure = 1;  // AOTI_RUNTIME_FAILURE

/// The text lives until the thread's next run, as that of the model does.
struct Explanation {
    std::string sentence;
    std::string text;
};

using DeleteTensor = std::int32_t(void*);

/// Returns the function with which the model deletes tensors, or null if it imports none.
DeleteTensor* find_delete(const void* in_model) {
    const std::optional<LoadedObject> object = object_at(in_model);
    void* found = nullptr;
    if (!object) return nullptr;
    for_each_import(*object, [&](const ImportSlot& import) {
        if (found == nullptr && strcmp(import.symbol, "aoti_torch_delete_tensor_object") == 0)
            found = real_behind(*object, import);
    });
    return reinterpret_cast<DeleteTensor*>(found);
}

/// Deletes the outputs, because a caller that gets a failure does not take them.
void delete_outputs(const Slot& slot, const StubFrame& frame) {
    auto** const outputs = reinterpret_cast<void**>(frame.integer(3));
    const std::uint64_t count = frame.integer(4);
    if (outputs == nullptr) return;
    DeleteTensor* const delete_tensor = find_delete(slot.real);
    for (std::uint64_t i = 0; i < count; ++i) {
        void* const output = outputs[i];
        if (output == nullptr) continue;
        std::replace(outputs + i, outputs + count, output, static_cast<void*>(nullptr));
        if (delete_tensor != nullptr) delete_tensor(output);
    }
}

}  // namespace

bool fail_run(ThreadState& state, const OpenCall& run) {
    // A run without a cookie has no stub frame, so it does not return through us. A Python wrapper does.
    if (run.cookie == nullptr && run.passage.values == nullptr) return false;
    state.failing_run = run.mark;
    return true;
}

bool fail_run(ThreadState& state) {
    const OpenCall* const run = innermost_run(state);
    return run != nullptr && fail_run(state, *run);
}

std::uint64_t mark_of_run(const ThreadState& state, std::uintptr_t address) {
    for (std::uint32_t i = state.depth; i-- > 0;) {
        const OpenCall& call = state.open[i];
        if (call.frame == address) return call.kind == ring::CallKind::run ? call.mark.get() : 0;
    }
    return 0;
}

void fail_marked_run(ThreadState& state, std::uint64_t mark, const Slot& slot, StubFrame& frame) {
    if (mark == 0 || state.failing_run != mark) return;
    state.failing_run = 0;
    // The run failed on its own. Its outputs stay as that failure left them.
    if (static_cast<std::int32_t>(frame.results[0]) != 0) return;
    delete_outputs(slot, frame);
    frame.results[0] = kFailure;
}

std::optional<std::string> take_failure(ThreadState& state, std::uint64_t mark) {
    if (mark == 0 || state.failing_run != mark) return std::nullopt;
    state.failing_run = 0;
    forget_explanation(state);
    return std::move(state.parts.get<Explanation>().sentence);
}

void explain_failure(ThreadState& state, std::string sentence) {
    state.parts.get<Explanation>().sentence = std::move(sentence);
    state.is_failure_explained = true;
}

void forget_explanation(ThreadState& state) {
    state.is_failure_explained = false;
}

void explain_last_error(ThreadState& state, const StubFrame& frame) {
    auto** const text = reinterpret_cast<const char**>(frame.integer(0));
    if (text == nullptr || static_cast<std::int32_t>(frame.results[0]) != 0) return;
    auto& explanation = state.parts.get<Explanation>();
    explanation.text = *text == nullptr ? "" : *text;
    if (!explanation.text.empty()) explanation.text += '\n';
    explanation.text += explanation.sentence;
    *text = explanation.text.c_str();
}

}  // namespace aoti_dbg
