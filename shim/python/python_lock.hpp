// The interpreter's lock, which the caller holds.
#pragma once

#include "shim/python/python_api.hpp"
#include "shim/runtime/process.hpp"

namespace aoti_dbg::python {

/// Other threads may run Python meanwhile: what the library does can wait for the device, or for a reader of
/// the log in another thread. Not if a call is only recorded, which never waits.
template <typename Work>
void while_others_run(Work work) {
    if (!any_feature_active() && !showing()) return work();
    void* const thread = api()->PyEval_SaveThread();
    try {
        work();
    } catch (...) {
        api()->PyEval_RestoreThread(thread);
        throw;
    }
    api()->PyEval_RestoreThread(thread);  // an interpreter that ends may end this thread here
}

}  // namespace aoti_dbg::python
