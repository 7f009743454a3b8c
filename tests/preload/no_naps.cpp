// Interposed behind the library under test: aborts the process when the library sleeps. With NO_NAPS=child it
// aborts only a forked child of the process that loaded it.
#include <dlfcn.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

namespace {

const pid_t g_loaded_by = getpid();

bool is_forbidden() {
    const char* const who = std::getenv("NO_NAPS");
    return who == nullptr || std::strcmp(who, "child") != 0 || getpid() != g_loaded_by;
}

}  // namespace

extern "C" int nanosleep(const timespec* time, timespec* rest) {
    Dl_info caller{};
    if (dladdr(__builtin_return_address(0), &caller) != 0 &&
        std::strstr(caller.dli_fname, "libaoti_dbg.so") != nullptr && is_forbidden())
        std::abort();
    using Sleep = int(const timespec*, timespec*);
    static auto* const real = reinterpret_cast<Sleep*>(dlsym(RTLD_NEXT, "nanosleep"));
    return real(time, rest);
}
