#include "shim/calls/call_lines.hpp"

#include <utility>

#include "base/status.hpp"
#include "model/wrapper_lines.hpp"
#include "shim/calls/calls.hpp"
#include "shim/calls/models.hpp"
#include "shim/calls/parts.hpp"
#include "shim/calls/thread_state.hpp"
#include "shim/runtime/loaded_object.hpp"

namespace aoti_dbg {
namespace {

/// The wrapper launches a kernel through at most two functions of its own.
constexpr int kMostFrames = 6;

/// The two words at a frame pointer.
struct Frame {
    std::uint64_t frame_pointer = 0;  // of the caller
    std::uint64_t return_address = 0;
};

/// Returns the frame at `address`, or an empty one if that is not on this thread's stack.
Frame frame_at(ThreadState& state, std::uintptr_t address) {
    const bool is_readable = address % sizeof(std::uint64_t) == 0 &&
                             readable_stack_words(state, address) >= sizeof(Frame) / sizeof(std::uint64_t);
    return is_readable ? *reinterpret_cast<const Frame*>(address) : Frame();
}

/// Returns the frame of the hook or the stub through which the call came.
Frame first_frame(ThreadState& state, const OpenCall& call) {
    if (const StubFrame* const stub = call.passage.frame; stub != nullptr)
        return {stub->saved_frame_pointer, stub->return_address};
    return frame_at(state, call.frame - sizeof(Frame));
}

}  // namespace

std::atomic<bool> g_any_call_lines{false};

std::unique_ptr<ModelLines> read_model_lines(const LoadedObject& object) {
    Result<FunctionLines> lines = read_wrapper_lines(object.path);
    if (!lines.ok()) return nullptr;
    const std::uintptr_t low = object.base + lines.value().address;
    if (!object.contains(low) || !object.contains(low + lines.value().lines.size())) return nullptr;
    g_any_call_lines.store(true, std::memory_order_relaxed);
    return std::make_unique<ModelLines>(ModelLines{low, std::move(lines.value())});
}

CallLine line_of_call(ThreadState& state, const OpenCall& call) {
    if (!call.is_own || is_model_entry(call.kind)) return {};
    const Parts* const parts = model_parts(call.model);
    const ModelLines* const lines = parts == nullptr ? nullptr : parts->find<ModelLines>();
    if (lines == nullptr) return {};
    std::uintptr_t below = call.frame - sizeof(Frame);
    Frame frame = first_frame(state, call);
    for (int i = 0; i < kMostFrames && frame.return_address != 0; ++i) {
        const std::uint64_t offset = frame.return_address - lines->low;
        if (offset <= lines->function.lines.size()) {
            const std::uint32_t line = lines->function.line_before(offset);
            return line == 0 ? CallLine() : CallLine{lines, line};
        }
        // Code without frame pointers may keep anything in that register.
        if (frame.frame_pointer <= below) return {};
        below = frame.frame_pointer;
        frame = frame_at(state, frame.frame_pointer);
    }
    return {};
}

}  // namespace aoti_dbg
