// How much this process has written to files, everything but saved tensors: who makes a file longer says so.
// One number, raised where files grow, which is rare. A fork's child begins anew.
#pragma once

#include <cstdint>

namespace aoti_dbg {

/// Negative where a file was cut.
void count_written_bytes(std::int64_t bytes);

std::uint64_t written_bytes();

}  // namespace aoti_dbg
