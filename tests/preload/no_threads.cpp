// Interposed behind the library under test: refuses every thread that the library creates, as under a reached
// limit. All other threads are created.
#include <dlfcn.h>
#include <pthread.h>

#include <cerrno>
#include <cstring>

extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*work)(void*),
                              void* argument) {
    Dl_info caller{};
    if (dladdr(__builtin_return_address(0), &caller) != 0 &&
        std::strstr(caller.dli_fname, "libaoti_dbg.so") != nullptr)
        return EAGAIN;
    using Create = int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
    static auto* const real = reinterpret_cast<Create*>(dlsym(RTLD_NEXT, "pthread_create"));
    return real(thread, attributes, work, argument);
}
