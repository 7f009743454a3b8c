// The ways out of a process that run no destructors: _exit and _Exit (os._exit of Python, workers of pytest
// and multiprocessing). What was recorded is closed in good order, then the real one is called. quick_exit
// does so itself (at_quick_exit), but tells nobody the status.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>

#include "shim/library/process_end.hpp"
#include "shim/runtime/process.hpp"
#include "shim/runtime/real_dlsym.hpp"

namespace {

[[noreturn]] void call_real(const char* name, int status) {
    const auto real = reinterpret_cast<void (*)(int)>(aoti_dbg::real_dlsym(RTLD_NEXT, name));
    if (real != nullptr) real(status);
    __builtin_trap();
}

[[noreturn]] void leave(const char* name, int status) {
    aoti_dbg::note_exit_status(status);
    aoti_dbg::end_process();
    call_real(name, status);
}

}  // namespace

extern "C" {
__attribute__((visibility("default"))) void _exit(int status) {
    leave("_exit", status);
}
__attribute__((visibility("default"))) void _Exit(int status) {
    leave("_Exit", status);
}
__attribute__((visibility("default"))) void quick_exit(int status) noexcept {
    aoti_dbg::note_exit_status(status);
    call_real("quick_exit", status);
}
}
