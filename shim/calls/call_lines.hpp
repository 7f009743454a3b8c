// The line of a call in the wrapper source, for models whose sources are gone. It comes from the call's
// return address. Nothing here runs for a process whose models all have sources, and looking up a line takes
// no lock.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "binary/function_lines.hpp"

// The library exports none of these, so it need not look up their addresses.
#pragma GCC visibility push(hidden)

namespace aoti_dbg {

struct LoadedObject;
struct OpenCall;
struct ThreadState;

/// The lines of a model, by address in this process. Never freed.
struct ModelLines {
    std::uintptr_t low = 0;
    FunctionLines function;
};

/// Set when the first such model loads. Inline, because every call reads it.
extern std::atomic<bool> g_any_call_lines;
inline bool any_call_lines() {
    return g_any_call_lines.load(std::memory_order_relaxed);
}

/// Reads the lines of a model without a wrapper source. Returns null if its library has none.
std::unique_ptr<ModelLines> read_model_lines(const LoadedObject& object);

/// The place of a call. It stays valid forever.
struct CallLine {
    const ModelLines* model = nullptr;  // null: the place is unknown
    std::uint32_t line = 0;
};

/// Finds the place of a model's own call that has not ended, in its own thread.
CallLine line_of_call(ThreadState& state, const OpenCall& call);

}  // namespace aoti_dbg

#pragma GCC visibility pop
