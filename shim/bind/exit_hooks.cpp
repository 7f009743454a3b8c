// The ways out of a process that run no destructors: _exit and _Exit (os._exit of Python, workers of pytest
// and multiprocessing). What was recorded is closed in good order, then the real one is called.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>

#include "shim/bind/real_dlsym.hpp"
#include "shim/observe/process.hpp"

namespace {

[[noreturn]] void leave(const char* name, int status) {
    aoti_dbg::note_exit_status(status);
    aoti_dbg::end_process();
    const auto real = reinterpret_cast<void (*)(int)>(aoti_dbg::real_dlsym(RTLD_NEXT, name));
    if (real != nullptr) real(status);
    __builtin_trap();
}

}  // namespace

extern "C" {
__attribute__((visibility("default"))) void _exit(int status) {
    leave("_exit", status);
}
__attribute__((visibility("default"))) void _Exit(int status) {
    leave("_Exit", status);
}
}
