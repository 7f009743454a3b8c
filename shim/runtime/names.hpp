// Names of kernels and ops, each interned once with everything that printing it takes. They live for ever:
// records and threads point to them, also when the model that brought a name is long gone.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "config/selection.hpp"

namespace aoti_dbg {

struct Name {
    std::uint32_t id;         // counts from 0
    Treatment treatment;      // what is done with calls of this name
    std::string printed;      // what PyTorch's printer calls it
    std::string before_line;  // "[ before_launch: X ]\n"
    std::string after_line;
};

/// `symbol` is another name under which patterns know it (the shim's, the mangled one).
/// The same pair gives the same Name. Never null.
const Name* intern_name(std::string_view printed, std::string_view symbol);

/// The name with this id, or nullptr; ids are dense.
const Name* name_by_id(std::uint32_t id);

}  // namespace aoti_dbg
