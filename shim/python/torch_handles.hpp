// Turns the tensors of Python into the handles that the C shim reads. The caller must hold the interpreter's
// lock.
#pragma once

#include <optional>

#include "shim/calls/passage.hpp"
#include "shim/python/python_api.hpp"
#include "shim/runtime/shim_api.hpp"

namespace aoti_dbg::python {

class TorchHandles {
  public:
    /// The getters of the process's libtorch.
    static std::optional<ShimApi> api();
    static TorchLibrary library();
    /// Appends the elements of a tuple or list. Elements that are neither tensors nor numbers become `other`.
    static void take(Object* sequence, PassedValues& to);
    /// Appends the handles in a list of capsules. They stay the caller's.
    static void borrow(Object* capsules, PassedValues& to);
    /// Deletes the handles.
    static void release(PassedValues& of);
};

}  // namespace aoti_dbg::python
