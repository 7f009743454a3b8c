#include "shim/calls/container_functions.hpp"

#include <cstring>

#include "shim/runtime/loaded_object.hpp"
#include "shim/runtime/shim_api.hpp"

namespace aoti_dbg {

const ContainerFunction* find_container_function(const char* name) {
    for (const ContainerFunction& function : kContainerFunctions) {
        if (strcmp(function.name, name) == 0) return &function;
    }
    return nullptr;
}

TorchRelease release_of_model(const LoadedObject& object) {
    TorchRelease newest = 0;
    for (const ContainerFunction& function : kContainerFunctions) {
        if (function.since > newest && defines(object, function.name)) newest = function.since;
    }
    // A wrapper of torch.compile defines none, but the PyTorch that runs it has compiled it.
    const void* const shim_function = newest == 0 ? shim_function_of(object) : nullptr;
    return shim_function == nullptr ? newest : find_torch_library(shim_function).release;
}

bool is_container_name(const char* name) {
    static constexpr char kPrefix[] = "AOTInductor";
    return strncmp(name, kPrefix, sizeof kPrefix - 1) == 0;
}

}  // namespace aoti_dbg
