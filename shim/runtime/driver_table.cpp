#include "shim/runtime/driver_table.hpp"

#include <dlfcn.h>

#include <cerrno>
#include <cstring>

#include "base/message.hpp"
#include "shim/runtime/loaded_object.hpp"
#include "shim/runtime/process.hpp"
#include "shim/runtime/real_dlsym.hpp"

namespace aoti_dbg {
namespace {

/// Returns a handle on libcuda if the process has loaded it. Keeps the reference, because the library calls
/// its functions until exit.
void* libcuda() {
    static std::atomic<void*> handle{nullptr};
    void* known = handle.load(std::memory_order_acquire);
    if (known != nullptr) return known;
    known = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    if (known == nullptr) known = dlopen("libcuda.so", RTLD_LAZY | RTLD_NOLOAD);
    if (known != nullptr) handle.store(known, std::memory_order_release);
    return known;
}

void say_who_interposes(const void* address, const char* name, const char* where, const char* try_this) {
    static std::atomic<bool> said{false};
    if (!observing() || said.exchange(true)) return;
    Dl_info info{};
    dladdr(address, &info);
    message(Severity::warn,
            "%s also interposes %s%s. Launches that bypass libaoti_dbg.so are not intercepted. %s.",
            info.dli_fname == nullptr ? "another library" : info.dli_fname, name, where, try_this);
}

bool ready_to_substitute() {
    static std::atomic<bool> done{false};
    if (done.load(std::memory_order_acquire)) return true;
    void* handle = libcuda();
    if (handle == nullptr) return false;
    for (DriverHook& hook : g_driver_hooks) {
        void* in_libcuda = real_dlsym(handle, hook.name);
        void* next = real_dlsym(RTLD_NEXT, hook.name);
        if (next != nullptr && next != in_libcuda && next != hook.hook) {
            // Another library is behind us in the loader's order, and our hook calls it. Substituting our
            // hook for the driver's own function would send that library calls it never got. It could also
            // cause an endless loop.
            say_who_interposes(next, hook.name, " behind libaoti_dbg.so",
                               "Put libaoti_dbg.so last in LD_PRELOAD");
            continue;
        }
        hook.in_libcuda.store(in_libcuda);
    }
    done.store(true, std::memory_order_release);
    return true;
}

}  // namespace

DriverHook* find_driver_hook(const char* name) {
    for (DriverHook& hook : g_driver_hooks) {
        if (strcmp(hook.name, name) == 0) return &hook;
    }
    return nullptr;
}

void* find_real_driver_function(Hook function) {
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

void look_for_other_interposers() {
    void* first = real_dlsym(RTLD_DEFAULT, "dlsym");
    Dl_info theirs{};
    Dl_info ours{};
    if (first == nullptr || dladdr(first, &theirs) == 0) return;
    if (dladdr(reinterpret_cast<void*>(&look_for_other_interposers), &ours) == 0) return;
    if (theirs.dli_fbase == ours.dli_fbase) return;
    message(Severity::warn,
            "%s overrides the dlsym of libaoti_dbg.so. Models and launches that a program looks up with "
            "dlsym may not be intercepted. Put libaoti_dbg.so first in LD_PRELOAD.",
            theirs.dli_fname);
}

void* substitute_driver_function(void* found) {
    if (found == nullptr || !ready_to_substitute()) return found;
    for (DriverHook& hook : g_driver_hooks) {
        if (found == hook.in_libcuda.load(std::memory_order_relaxed)) return hook.hook;
    }
    return found;
}

void* substitute_looked_up(DriverHook& hook, void* found) {
    void* handed_out = substitute_driver_function(found);
    if (handed_out == found && found != hook.hook &&
        hook.in_libcuda.load(std::memory_order_relaxed) != nullptr) {
        say_who_interposes(found, hook.name, " in symbol lookups",
                           "Run without that library (for example, a profiler)");
    }
    return handed_out;
}

}  // namespace aoti_dbg
