// Where a thread of this process stands, read from /proc: nothing is done to it, and no lock is taken that it
// may hold. What the kernel does not tell is left empty.
#pragma once

#include <cstdint>

#include "serializer/hang.hpp"

namespace aoti_dbg {

ThreadPlace place_of_thread(std::uint32_t tid);

}  // namespace aoti_dbg
