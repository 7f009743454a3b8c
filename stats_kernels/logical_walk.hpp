// Reads a strided tensor in logical order, block by block. Allocates nothing.
#pragma once

#include "stats_kernels/tensor_view.hpp"

namespace aoti_dbg {

class LogicalWalk {
  public:
    /// Starts at element `begin`. `layout` comes from collapse(), has at least one element and must outlive
    /// this object.
    LogicalWalk(const void* data, std::uint32_t element_bytes, const Layout& layout, std::uint64_t begin);

    /// Copies the next `count` elements to `to` contiguously.
    void gather(std::uint32_t count, unsigned char* to);

  private:
    void carry();

    const unsigned char* at_;
    std::uint32_t element_bytes_;
    const Layout& layout_;
    std::int64_t index_[kMaxRank] = {};
};

}  // namespace aoti_dbg
