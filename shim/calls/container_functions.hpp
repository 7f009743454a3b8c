// The functions of a model's container that get a stub. To add a function, add a line in
// container_functions.cpp.
#pragma once

#include "shim/runtime/slots.hpp"

namespace aoti_dbg {

/// The meaning of a container function that gets a stub.
struct ContainerFunction {
    const char* name;
    SlotRole role;
    ring::CallKind kind;
    std::int32_t stack_words;
};

/// Returns null for any function without a stub.
const ContainerFunction* find_container_function(const char* name);

/// Returns true if the name belongs to a model's container. Its lookup means that a model is present.
bool is_container_name(const char* name);

}  // namespace aoti_dbg
