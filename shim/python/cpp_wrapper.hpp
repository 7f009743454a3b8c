// The C++ wrappers of torch.compile (TORCHINDUCTOR_CPP_WRAPPER=1). Such a wrapper is an extension module,
// whose import slots are those of a package's library. Only its run is different: Python calls it with lists
// of handles.
#pragma once

namespace aoti_dbg {

struct Slot;
struct StubFrame;
struct ThreadState;

/// Makes a model of the extension module with this init function. The calling thread must hold the
/// interpreter's lock.
void cpp_wrapper_found(const void* init_function);

namespace python {

/// Begins the run behind a stub. Returns false if end_wrapper_run() must not follow.
bool begin_wrapper_run(ThreadState& state, const Slot& slot, const StubFrame& frame);
/// Returns an exception instead of the outputs if the run is marked to fail.
void end_wrapper_run(ThreadState& state, StubFrame& frame);

}  // namespace python

}  // namespace aoti_dbg
