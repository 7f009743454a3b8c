// The functions of a model's own interface (AOTInductor*), as model/container_table.hpp lists them.
#pragma once

#include "model/container_table.hpp"
#include "shim/runtime/shim_table.hpp"

namespace aoti_dbg {

struct LoadedObject;

/// Returns the newest release whose functions the model defines. The release that compiled it is the same or
/// a newer one without new functions.
TorchRelease release_of_model(const LoadedObject& object);

/// Returns null for a function of a PyTorch newer than the table.
const ContainerFunction* find_container_function(const char* name);

/// Returns true if the name belongs to a model's interface. Its lookup means that a model is present.
bool is_container_name(const char* name);

}  // namespace aoti_dbg
