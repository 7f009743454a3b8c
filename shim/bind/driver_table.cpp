#include "shim/bind/driver_table.hpp"

#include <dlfcn.h>

#include <cerrno>
#include <cstring>

#include "base/message.hpp"
#include "shim/bind/loaded_object.hpp"
#include "shim/bind/real_dlsym.hpp"

// Declared without types: this file only takes their addresses, driver_hooks.cpp defines them as cuda.h says.
extern "C" {
#define AOTI_DBG_HOOK(name, what) void name();
#include "shim/bind/hooks.def"
#undef AOTI_DBG_HOOK
}

namespace aoti_dbg {
namespace {

DriverHook g_hooks[] = {
#define AOTI_DBG_HOOK(name, what) {#name, reinterpret_cast<void*>(&::name), {nullptr}, {nullptr}},
#include "shim/bind/hooks.def"
#undef AOTI_DBG_HOOK
};

/// A handle on libcuda if the process has it. The reference is kept: its functions are called until the end.
void* libcuda() {
    static std::atomic<void*> handle{nullptr};
    void* known = handle.load(std::memory_order_acquire);
    if (known != nullptr) return known;
    known = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    if (known == nullptr) known = dlopen("libcuda.so", RTLD_LAZY | RTLD_NOLOAD);
    if (known != nullptr) handle.store(known, std::memory_order_release);
    return known;
}

bool ready_to_substitute() {
    static std::atomic<bool> done{false};
    if (done.load(std::memory_order_acquire)) return true;
    void* handle = libcuda();
    if (handle == nullptr) return false;
    for (DriverHook& hook : g_hooks)
        hook.in_libcuda.store(real_dlsym(handle, hook.name));
    done.store(true, std::memory_order_release);
    return true;
}

}  // namespace

DriverHook& driver_hook(DriverFunction function) {
    return g_hooks[static_cast<unsigned>(function)];
}

DriverHook* find_driver_hook(const char* name) {
    for (DriverHook& hook : g_hooks) {
        if (strcmp(hook.name, name) == 0) return &hook;
    }
    return nullptr;
}

void* find_real_driver_function(DriverFunction function) {
    const int kept_errno = errno;
    DriverHook& hook = driver_hook(function);
    void* real = real_dlsym(RTLD_NEXT, hook.name);
    if (real == nullptr && libcuda() != nullptr) real = real_dlsym(libcuda(), hook.name);
    if (real == hook.hook) real = nullptr;
    hook.real.store(real, std::memory_order_release);
    errno = kept_errno;
    return real;
}

void* other_driver_function(const char* name) {
    void* handle = libcuda();
    return handle == nullptr ? nullptr : real_dlsym(handle, name);
}

void* substitute_driver_function(void* found) {
    if (found == nullptr || !ready_to_substitute()) return found;
    for (DriverHook& hook : g_hooks) {
        if (found == hook.in_libcuda.load(std::memory_order_relaxed)) return hook.hook;
    }
    return found;
}

}  // namespace aoti_dbg
