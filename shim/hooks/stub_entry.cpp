// The code that the thunk calls before and after the real function. No exception may escape, errno must not
// change, and the real function runs whatever fails here.
#include <string>

#include "base/errno_keeper.hpp"
#include "shim/calls/calls.hpp"
#include "shim/calls/models.hpp"
#include "shim/calls/run_failure.hpp"
#include "shim/calls/thread_state.hpp"
#include "shim/check/checks.hpp"
#include "shim/python/cpp_wrapper.hpp"
#include "shim/runtime/names.hpp"
#include "shim/runtime/process.hpp"
#include "shim/runtime/slots.hpp"
#include "shim/runtime/stub_frame.hpp"
#include "shim/tensors/call_tensors.hpp"
#include "shim/tensors/measured_model.hpp"
#include "shim/tensors/tensor_lifetimes.hpp"

namespace aoti_dbg {
namespace {

// A run that grad mode reveals has no frame of its own. It ends when grad mode is restored.
constexpr std::uintptr_t kNoFrame = UINTPTR_MAX;

const Name* dispatched_name(const StubFrame& frame) {
    const auto* op = reinterpret_cast<const char*>(frame.integer(0));
    const auto* overload = reinterpret_cast<const char*>(frame.integer(1));
    if (op == nullptr) return intern_name("dispatched op", {});
    if (overload == nullptr || *overload == '\0') return intern_name(op, {});
    return intern_name(std::string(op) + "." + overload, op);
}

/// Tracks runs of a linked model through grad mode. Disabling it starts a run, and the next setting ends the
/// run.
void toggle_run(ThreadState& state, const Slot& slot, bool enabled) {
    const OpenCall* run = innermost_run(state);
    if (run != nullptr) {
        if (run->frame == kNoFrame) end_call(state, kNoFrame, 0);
        return;
    }
    if (enabled) return;
    static const Name* const name = intern_name("run of a linked model", {});
    begin_call(state, CallStart{name, ring::CallKind::run, slot.model, kNoFrame, 0, true, nullptr, {}});
}

bool is_besides_calls(SlotRole role) {
    return role == SlotRole::pointer || role == SlotRole::view || role == SlotRole::freed;
}

[[gnu::hot]] void look_besides_calls(const Slot& slot, const StubFrame& frame) {
    ThreadState* const state = thread_state_if_any();
    const auto* const tensor = reinterpret_cast<TensorHandle>(frame.integer(0));
    if (slot.role == SlotRole::freed) {
        if (state != nullptr) note_tensor_freed(*state, tensor);
        return;
    }
    MeasuredModel* const model = measured_model(slot.model);
    if (model == nullptr) return;
    if (slot.role == SlotRole::pointer) return note_pointer(state, *model, tensor);
    if (state != nullptr) check_view(*state, *model, frame);
}

void note_created(ThreadState& state, const Slot& slot, const StubFrame& frame) {
    const OpenCall* const run = innermost_run(state);
    const bool is_of_run = run != nullptr && run->model == slot.model && run->measured != nullptr;
    const MeasuredModel* const model = is_of_run ? run->measured : measured_model(slot.model);
    if (model != nullptr) note_created_tensor(state, *model, frame);
}

bool is_explained() {
    const ThreadState* const state = thread_state_if_any();
    return state != nullptr && state->is_failure_explained;
}

/// Returns the number of stack words to repeat, or 0 if that is not safe.
std::int64_t safe_words(ThreadState& state, std::uintptr_t address) {
    const auto readable = static_cast<std::int64_t>(readable_stack_words(state, address));
    const std::int64_t words = readable < kBlindWords ? readable : kBlindWords;
    if (words == 0) state.counts.unsafe.raise();
    return words;
}

/// Names an op that the call's arguments identify.
const Name* name_by_arguments(ThreadState& state, const Slot& slot, const StubFrame& frame) {
    if (slot.role == SlotRole::dispatcher) return dispatched_name(frame);
    const OpenCall* run = innermost_run(state);
    const std::uint16_t model =
        run != nullptr ? run->model : model_at(reinterpret_cast<const void*>(frame.return_address));
    return proxy_op_name(model, frame.integer(1) & 0xffffffffU);
}

/// Handles a passage that is not a call of a model.
[[gnu::noinline]] StubTarget before_other(const Slot& slot, StubFrame& frame) {
    const StubTarget jump{slot.real, -1};
    const StubTarget watched{slot.real, slot.stack_words};
    if (slot.role == SlotRole::mark) return jump;
    if (is_besides_calls(slot.role)) {
        look_besides_calls(slot, frame);
        return jump;
    }
    if (slot.role == SlotRole::last_error) return is_explained() ? watched : jump;
    ThreadState* const state = thread_state();
    if (state == nullptr) return jump;
    if (state->is_failure_explained && is_model_entry(slot.kind)) [[unlikely]]
        forget_explanation(*state);
    close_unwound_calls(*state, frame.address());
    if (slot.role == SlotRole::python_run)
        return python::begin_wrapper_run(*state, slot, frame) ? watched : jump;
    toggle_run(*state, slot, frame.integer(0) != 0);
    return jump;
}

bool is_in_run() {
    ThreadState* const state = thread_state_if_any();
    return state != nullptr && innermost_run(*state) != nullptr;
}

bool is_call(SlotRole role) {
    return role <= SlotRole::run || role == SlotRole::lifecycle;
}
static_assert(SlotRole::call < SlotRole::run && SlotRole::proxy < SlotRole::run &&
              SlotRole::dispatcher < SlotRole::run && SlotRole::grad_mode > SlotRole::run);

[[gnu::hot]] StubTarget before(const Slot& slot, StubFrame& frame) {
    const StubTarget jump{slot.real, -1};
    if (!observing()) return jump;
    if (!is_call(slot.role)) return before_other(slot, frame);
    ThreadState* state = thread_state();
    if (state == nullptr) return jump;
    if (state->is_failure_explained && is_model_entry(slot.kind)) [[unlikely]]
        forget_explanation(*state);
    const std::uintptr_t address = frame.address();
    close_unwound_calls(*state, address);
    std::int64_t words = slot.stack_words;
    if (words == kUnknownWords) [[unlikely]] {
        words = safe_words(*state, address);
        if (words == 0) return jump;
    }
    CallStart start{slot.name, slot.kind, slot.model, address, 0, true, &frame.padding, {&slot, &frame}};
    if (slot.role == SlotRole::proxy || slot.role == SlotRole::dispatcher)
        start.name = name_by_arguments(*state, slot, frame);
    return begin_call(*state, start) ? StubTarget{slot.real, words} : jump;
}

[[gnu::hot]] void after(ThreadState& state, const Slot& slot, StubFrame& frame) {
    if (slot.role == SlotRole::call) [[likely]]
        return end_call(state, frame.address(), static_cast<std::int32_t>(frame.results[0]));
    if (slot.role == SlotRole::made) return note_created(state, slot, frame);
    if (slot.role == SlotRole::last_error) return explain_last_error(state, frame);
    if (slot.role == SlotRole::python_run) return python::end_wrapper_run(state, frame);
    const std::uint64_t run = slot.role == SlotRole::run ? mark_of_run(state, frame.address()) : 0;
    end_call(state, frame.address(), static_cast<std::int32_t>(frame.results[0]));
    if (run != 0) fail_marked_run(state, run, slot, frame);
}

[[gnu::hot, gnu::noinline]] StubTarget before_guarded(const Slot& slot, StubFrame& frame) {
    const ErrnoKeeper errno_keeper;
    try {
        return before(slot, frame);
    } catch (...) {
        switch_off("out of memory while recording a call");
        return {slot.real, -1};
    }
}

}  // namespace
}  // namespace aoti_dbg

extern "C" {

__attribute__((visibility("hidden"), hot)) aoti_dbg::StubTarget aoti_dbg_before(std::uint64_t number,
                                                                                aoti_dbg::StubFrame* frame) {
    const aoti_dbg::Slot& slot = aoti_dbg::slot_at(number);
    // The tensor is inspected after the call. This touches neither errno nor memory.
    if (slot.role == aoti_dbg::SlotRole::made)
        return {slot.real, aoti_dbg::observing() && aoti_dbg::is_in_run() ? slot.stack_words : -1};
    return aoti_dbg::before_guarded(slot, *frame);
}

__attribute__((visibility("hidden"), hot)) void aoti_dbg_after(std::uint64_t number,
                                                               aoti_dbg::StubFrame* frame) {
    const aoti_dbg::ErrnoKeeper errno_keeper;
    if (!aoti_dbg::observing()) return;
    aoti_dbg::ThreadState* state = aoti_dbg::thread_state();
    if (state == nullptr) return;
    const aoti_dbg::Slot& slot = aoti_dbg::slot_at(number);
    try {
        aoti_dbg::after(*state, slot, *frame);
    } catch (...) {
        aoti_dbg::switch_off("out of memory while recording the end of a call");
    }
}

}  // extern "C"
