// Counts the bytes that this process has written to files, except saved tensors. Code that extends a file
// reports it here. It is one counter, which changes rarely because files rarely grow. A forked child starts
// at zero.
#pragma once

#include <cstdint>

namespace aoti_dbg {

/// `bytes` is negative if a file was truncated.
void count_written_bytes(std::int64_t bytes);

std::uint64_t written_bytes();

}  // namespace aoti_dbg
