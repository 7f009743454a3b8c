// libinterposer_dlsym.so: another preloaded library that interposes dlsym, like profilers and overlays. It
// counts look-ups and forwards each by a tail call, so that the loader sees the true caller. Every build type
// must optimize it for that. With INTERPOSER_REPORT=1, it prints its count to standard error at exit.
#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>

namespace {

// noexcept, because a function that may not throw cannot tail-call one that might.
using Dlsym = void*(void*, const char*) noexcept;

std::atomic<unsigned long> g_look_ups{0};

Dlsym* next_dlsym() {
    static std::atomic<Dlsym*> found{nullptr};
    Dlsym* next = found.load(std::memory_order_relaxed);
    if (next != nullptr) return next;
    for (const char* version : {"GLIBC_2.34", "GLIBC_2.17", "GLIBC_2.2.5"}) {
        if (next == nullptr) next = reinterpret_cast<Dlsym*>(dlvsym(RTLD_NEXT, "dlsym", version));
    }
    found.store(next, std::memory_order_relaxed);
    return next;
}

__attribute__((destructor)) void report() {
    if (std::getenv("INTERPOSER_REPORT") == nullptr) return;
    dprintf(STDERR_FILENO, "interposer_dlsym: saw look-ups: %d\n", g_look_ups.load() > 0 ? 1 : 0);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) void* dlsym(void* handle, const char* name) noexcept {
    g_look_ups.fetch_add(1, std::memory_order_relaxed);
    return next_dlsym()(handle, name);
}
