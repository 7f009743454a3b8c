// The functions of a model's own interface (AOTInductor*), of every PyTorch release.
// scripts/generate-container-table writes the table from the headers that ship with torch.
#pragma once

#include <cstdint>

namespace aoti_dbg {

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
    std::uint16_t since;  // 214 is PyTorch 2.14; those of the first release may be older
};

inline constexpr ContainerFunction kContainerFunctions[] = {
#include "model/container_table.inc"
};

}  // namespace aoti_dbg
