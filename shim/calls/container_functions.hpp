// The functions of a model's container that get a stub. To add one: a line in container_functions.cpp.
#pragma once

#include "shim/runtime/slots.hpp"

namespace aoti_dbg {

/// What a function of a model's container means, if it is one that gets a stub.
struct ContainerFunction {
    const char* name;
    SlotRole role;
    ring::CallKind kind;
    std::int32_t stack_words;
};

/// nullptr: not one of ours.
const ContainerFunction* find_container_function(const char* name);

/// Whether the name is one of a model's container at all: seeing it looked up means a model is there.
bool is_container_name(const char* name);

}  // namespace aoti_dbg
