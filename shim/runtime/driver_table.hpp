// The hooked entry points of the driver: our function, the real one, and the one in libcuda. The real one is
// what the program would have called without us. That is the next definition in the loader's order, which may
// belong to another interposing library, or else libcuda's own.
#pragma once

#include <atomic>
#include <cstddef>
#include <iterator>

// The library exports none of these, so it need not look up their addresses.
#pragma GCC visibility push(hidden)

namespace aoti_dbg {

/// The exported functions, in the order of hooks.def.
enum class Hook : unsigned {};
inline constexpr const char* kHookNames[] = {
#define AOTI_DBG_HOOK(name, what) #name,
#include "shim/runtime/hooks.def"
#undef AOTI_DBG_HOOK
};
inline constexpr std::size_t kHookCount = std::size(kHookNames);
constexpr const char* hook_name(Hook hook) {
    return kHookNames[static_cast<unsigned>(hook)];
}

struct DriverHook {
    const char* name;
    void* hook;                     // what the library exports
    std::atomic<void*> real;        // what the hook calls
    std::atomic<void*> in_libcuda;  // lookups that find this get the hook instead; null: no substitution
};

// driver_hooks.S relies on this layout.
static_assert(sizeof(DriverHook) == 32 && offsetof(DriverHook, hook) == 8 &&
              offsetof(DriverHook, real) == 16);

/// By the numbers of Hook. Every hook reads it, so the accessor is inline.
extern DriverHook g_driver_hooks[kHookCount];
inline DriverHook& driver_hook(Hook hook) {
    return g_driver_hooks[static_cast<unsigned>(hook)];
}

/// Matches the exact name. Returns null for any other function of the driver.
DriverHook* find_driver_hook(const char* name);

/// Finds the real function at the first call. Returns null if no driver is loaded.
void* find_real_driver_function(Hook function);
inline void* real_driver_function(Hook function) {
    void* real = driver_hook(function).real.load(std::memory_order_acquire);
    return real != nullptr ? real : find_real_driver_function(function);
}

/// Returns a driver function that has no hook, for our own use, or null if the driver has none.
void* other_driver_function(const char* name);

/// Warns if another library overrides our dlsym and so hides calls from us. Changes nothing.
void look_for_other_interposers();

/// Returns our hook if `found` is the function in libcuda that it hooks, else `found`.
void* substitute_driver_function(void* found);

/// Does the same for the result of a lookup by name. Warns once if the lookup found another library's
/// function.
void* substitute_looked_up(DriverHook& hook, void* found);

}  // namespace aoti_dbg

#pragma GCC visibility pop
