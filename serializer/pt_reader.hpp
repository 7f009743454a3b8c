// Reads `.pt` files that hold one tensor: our own (pt_file.hpp) and what torch.save() writes for a tensor or
// a torch.nn.Parameter. Takes any bytes, calls nothing that they name, copies nothing of the tensor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "stats_kernels/tensor_view.hpp"

namespace aoti_dbg {

/// The elements that sizes, strides and offset tell of lie within the storage. Device and storage are the
/// file's own bytes; where they begin is not aligned to anything.
struct PtView {
    DType dtype{};
    std::vector<std::int64_t> sizes;    // at most kMaxRank
    std::vector<std::int64_t> strides;  // in elements, not negative
    std::int64_t storage_offset = 0;    // in elements
    std::string_view device;            // where it was, "cuda:0"
    MathBits bits;                      // which the bytes of the storage do not have applied
    std::span<const std::byte> storage;
};

enum class PtCheck {
    everything,
    all_but_checksums,  // the storage is not looked at
};

/// `file` is all of it, and outlives the view.
Result<PtView> read_pt(std::span<const std::byte> file, PtCheck check = PtCheck::everything);

}  // namespace aoti_dbg
