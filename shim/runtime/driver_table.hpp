// The driver's entry points that are hooked: our function, the real one, and the one that lies in libcuda.
// The real one is what the program would have called: the next definition in the loader's order, which may be
// another library that interposes, else libcuda's own.
#pragma once

#include <atomic>
#include <cstddef>

namespace aoti_dbg {

enum class DriverFunction : unsigned {
#define AOTI_DBG_HOOK(name, what) name,
#include "shim/runtime/hooks.def"
#undef AOTI_DBG_HOOK
    count
};

struct DriverHook {
    const char* name;
    void* hook;                     // what we export
    std::atomic<void*> real;        // what it calls
    std::atomic<void*> in_libcuda;  // what is substituted when it is handed out; nullptr: nothing is
};

DriverHook& driver_hook(DriverFunction function);

/// Exact name; nullptr for any other function of the driver.
DriverHook* find_driver_hook(const char* name);

/// The real function, found at the first call; nullptr when no driver is loaded.
void* find_real_driver_function(DriverFunction function);
inline void* real_driver_function(DriverFunction function) {
    void* real = driver_hook(function).real.load(std::memory_order_acquire);
    return real != nullptr ? real : find_real_driver_function(function);
}

/// A function of the driver that has no hook, for our own use; nullptr when there is none.
void* other_driver_function(const char* name);

/// Says once if another library stands where it keeps us from seeing calls. Only looks.
void look_for_other_interposers();

/// Our hook, if `found` is the function in libcuda that it stands before; else `found` itself.
void* substitute_driver_function(void* found);

/// The same for the answer to a look-up by name; says once when somebody else's function was found.
void* substitute_looked_up(DriverHook& hook, void* found);

}  // namespace aoti_dbg
