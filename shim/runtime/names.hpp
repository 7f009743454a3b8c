// Names of kernels and ops, each interned once with everything that printing it needs. Names are never freed,
// because records and threads point to them after their model is unloaded.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "config/selection.hpp"

namespace aoti_dbg {

struct Name {
    std::uint32_t id;         // counts from 0
    Treatment treatment;      // how calls with this name are treated
    std::string printed;      // as PyTorch's printer writes it
    std::string before_line;  // "[ before_launch: X ]\n"
    std::string after_line;
};

/// Returns the same Name for the same pair, never null. `symbol` is another name that patterns can match (the
/// shim's, or the mangled one).
const Name* intern_name(std::string_view printed, std::string_view symbol);

/// Returns the name with this id, or null. Ids are dense.
const Name* name_by_id(std::uint32_t id);

}  // namespace aoti_dbg
