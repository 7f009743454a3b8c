// The door of torch.compile: lets the Python wrappers that Inductor writes report their kernels (door.py).
// What they report becomes runs and calls, as those of a package.
#pragma once

namespace aoti_dbg {

/// Opens the door in an interpreter that loads an extension module with this init function. The calling
/// thread must hold the interpreter's lock. Does nothing if the module is not PyTorch's, or if the door is
/// open.
void open_python_door(const void* init_function);

}  // namespace aoti_dbg
