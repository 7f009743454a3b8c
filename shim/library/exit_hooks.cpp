// Hooks _exit and _Exit, which end a process without destructors (Python's os._exit, workers of pytest and
// multiprocessing). Each ends the session and then calls the real function. quick_exit runs our handler by
// itself (at_quick_exit), but the handler does not get the status.
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
