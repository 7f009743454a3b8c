// Loads and unloads the library in a process. At load it only reads its options and looks for models, because
// LD_PRELOAD reaches every child, compilers included. It must do nothing else before a model loads or a
// kernel launches.
#include <cstdlib>

#include "shim/calls/models.hpp"
#include "shim/faults/fatal_signals.hpp"
#include "shim/library/process_end.hpp"
#include "shim/runtime/driver_table.hpp"
#include "shim/runtime/process.hpp"

namespace {

__attribute__((constructor)) void library_loaded() {
    aoti_dbg::ensure_process_ready();
    if (aoti_dbg::observing()) {
        aoti_dbg::look_for_other_interposers();
        aoti_dbg::find_linked_models();
        aoti_dbg::watch_fatal_signals_for_faulthandler();
    }
    at_quick_exit(aoti_dbg::end_process);
}

__attribute__((destructor)) void library_leaves() {
    aoti_dbg::end_process();
}

}  // namespace
