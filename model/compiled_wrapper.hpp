// Reads what the door of torch.compile says about a Python wrapper (shim/python/door.py): its kernels in the
// order of the source, with the names and roles of their arguments.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/compiled_function.hpp"
#include "model/wrapper_info.hpp"

namespace aoti_dbg {

struct CompiledWrapper {
    std::string path;
    bool is_on_cuda = false;
    CompiledFunction function;
    WrapperInfo info;
};

/// Returns nothing if the text is not such a description. Accepts any bytes.
std::optional<CompiledWrapper> read_compiled_wrapper(std::string_view json);

}  // namespace aoti_dbg
