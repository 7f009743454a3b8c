// Names of the functions that the driver launches. The library learns them when a program gets them from a
// module or library. Otherwise it asks the driver at the first launch. The driver can reuse a handle for
// another function, so names are forgotten with their module, library or context.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include "shim/calls/thread_state.hpp"

// The library exports none of these, so it need not look up their addresses.
#pragma GCC visibility push(hidden)

namespace aoti_dbg {

struct Name;

/// `path` is the file that the module was loaded from.
void learn_module(const void* module, std::string_view path);
/// `caller` is the code that requests the function. For a model, the library knows the names of its kernels.
void learn_function(const void* function, const void* owner, std::string_view symbol, const void* caller);
/// Gives `function`, which the driver created from `kernel`, the same name.
void learn_same(const void* function, const void* kernel);

void forget_owner(const void* owner);
void forget_all();

/// Forgetting or learning a name increments this. Threads look up names from an older epoch again.
extern std::atomic<std::uint64_t> g_functions_epoch;
/// Never returns null.
const Name* look_up_function_name(ThreadState& state, const void* function);
/// Does the same. Inline, because every launch needs it.
inline const Name* function_name(ThreadState& state, const void* function) {
    const CachedFunction& cached = state.functions[place_of_function(function)];
    if (cached.function == function && cached.epoch == g_functions_epoch.load(std::memory_order_acquire))
        [[likely]]
        return cached.name;
    return look_up_function_name(state, function);
}

}  // namespace aoti_dbg

#pragma GCC visibility pop
