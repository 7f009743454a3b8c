// One link in a chain of libraries that all define `chain_link`: each asks the loader for the next
// definition. Built once for each value of CHAIN_LINK.
#include <dlfcn.h>

#ifndef CHAIN_LINK
#error "Build with -DCHAIN_LINK=1, 2, ..."
#endif
#define CHAIN_API extern "C" __attribute__((visibility("default")))

/// Returns the numbers of the links from here on, as decimal digits.
CHAIN_API int chain_link(int digits) {
    digits = digits * 10 + CHAIN_LINK;
    auto* next = reinterpret_cast<int (*)(int)>(dlsym(RTLD_NEXT, "chain_link"));
    return next == nullptr ? digits : next(digits);
}

#if CHAIN_LINK == 3
// Defined in the link that is opened with RTLD_LOCAL: only that link and its dependencies see it.
CHAIN_API int chain_only_here() {
    return 33;
}

CHAIN_API int chain_sees_itself() {
    return dlsym(RTLD_DEFAULT, "chain_only_here") == reinterpret_cast<void*>(&chain_only_here) ? 1 : 0;
}
#endif
