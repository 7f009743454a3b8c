// The functions of a model's own interface (AOTInductor*), as container_table.inc lists them.
#pragma once

#include <cstdint>

#include "shim/runtime/shim_table.hpp"

namespace aoti_dbg {

struct LoadedObject;

enum class ContainerMeaning : std::uint8_t {
    run,         // an inference
    lifecycle,   // creates, changes or destroys the model
    last_error,  // asks why a function failed
    other,       // gets no stub
};

struct ContainerFunction {
    char name[64];  // not a pointer, which the loader would have to relocate
    ContainerMeaning meaning;
    std::int32_t stack_words;
    TorchRelease since;
};

/// Returns the newest release whose functions the model defines. The release that compiled it is the same or
/// a newer one without new functions.
TorchRelease release_of_model(const LoadedObject& object);

/// Returns null for a function of a PyTorch newer than the table.
const ContainerFunction* find_container_function(const char* name);

/// Returns true if the name belongs to a model's interface. Its lookup means that a model is present.
bool is_container_name(const char* name);

}  // namespace aoti_dbg
