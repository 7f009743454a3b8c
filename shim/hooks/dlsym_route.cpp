// The first step of every dlsym in the process: decides if the name concerns the library. It runs before
// anything is initialized, and while a sanitizer's runtime starts. So it must not use thread-local storage,
// libc functions except dlvsym, or instrumentation (the build disables it here).
#include <dlfcn.h>

#include <atomic>
#include <initializer_list>

#include "shim/runtime/real_dlsym.hpp"

namespace aoti_dbg {
namespace {

using DlsymFunction = void* (*)(void*, const char*);

std::atomic<DlsymFunction> g_real{nullptr};

DlsymFunction find_real() {
    DlsymFunction real = g_real.load(std::memory_order_acquire);
    if (real != nullptr) return real;
    // The symbol version of libc's dlsym depends on its age and the architecture.
    for (const char* version : {"GLIBC_2.34", "GLIBC_2.2.5", "GLIBC_2.17"}) {
        real = reinterpret_cast<DlsymFunction>(dlvsym(RTLD_NEXT, "dlsym", version));
        if (real != nullptr) break;
    }
    // A versioned lookup skips libraries that override dlsym without a version. This lookup finds them.
    if (real != nullptr) {
        if (const auto next = reinterpret_cast<DlsymFunction>(real(RTLD_NEXT, "dlsym")); next != nullptr)
            real = next;
    }
    g_real.store(real, std::memory_order_release);
    return real;
}

constexpr const char* kDriverNames[] = {
#define AOTI_DBG_HOOK(name, what) #name,
#include "shim/runtime/hooks.def"
#undef AOTI_DBG_HOOK
};

bool begins_with(const char* text, const char* prefix) {
    while (*prefix != '\0') {
        if (*text++ != *prefix++) return false;
    }
    return true;
}

bool is_equal(const char* one, const char* other) {
    while (*one != '\0' && *one == *other)
        ++one, ++other;
    return *one == *other;
}

/// Compares exact names, because other libraries have names with the same prefix.
bool is_of_interest(const char* name) {
    if (begins_with(name, "AOTInductor") || is_equal(name, "PyInit__C") ||
        is_equal(name, "PyInit_inductor_entry_cpp"))
        return true;
    if (name[0] != 'c' || name[1] != 'u') return false;
    for (const char* driver_name : kDriverNames) {
        if (is_equal(name, driver_name)) return true;
    }
    return false;
}

}  // namespace

void* real_dlsym(void* handle, const char* name) {
    return find_real()(handle, name);
}

}  // namespace aoti_dbg

extern "C" {

__attribute__((visibility("hidden"))) void* aoti_dbg_dlsym_of_interest(void* handle, const char* name);

/// The assembly entry calls this to get its jump target.
__attribute__((visibility("hidden"))) void* aoti_dbg_route_dlsym(void* handle, const char* name) {
    // RTLD_NEXT means "after the caller", which only the real dlsym can resolve. It finds our exports by
    // itself.
    const bool ours = name != nullptr && handle != RTLD_NEXT && aoti_dbg::is_of_interest(name);
    return ours ? reinterpret_cast<void*>(&aoti_dbg_dlsym_of_interest)
                : reinterpret_cast<void*>(aoti_dbg::find_real());
}

}  // extern "C"
