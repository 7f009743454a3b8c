// What a call does with the memory of an argument.
#pragma once

#include <cstdint>

namespace aoti_dbg {

enum class Role : std::uint8_t {
    unknown,
    reads,
    writes,   // the old contents are not read
    updates,  // read and written
    makes,    // created by the call; nothing exists before it
};

}  // namespace aoti_dbg
