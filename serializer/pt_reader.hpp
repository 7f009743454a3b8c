// Reads `.pt` files that hold one tensor: our own (pt_file.hpp) and what torch.save() writes for a tensor or
// a torch.nn.Parameter. It accepts any bytes. It must call nothing that they name and copy no tensor data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "stats_kernels/tensor_view.hpp"

namespace aoti_dbg {

/// The elements that sizes, strides and offset describe lie within the storage. Device and storage point into
/// the file, and their start is not aligned.
struct PtView {
    DType dtype{};
    std::vector<std::int64_t> sizes;    // at most kMaxRank
    std::vector<std::int64_t> strides;  // in elements, not negative
    std::int64_t storage_offset = 0;    // in elements
    std::string_view device;            // the device it was saved from, "cuda:0"
    MathBits bits;                      // not yet applied to the storage bytes
    std::span<const std::byte> storage;
};

enum class PtCheck {
    everything,
    all_but_checksums,  // the storage bytes are not read
};

/// `file` is the complete file and must outlive the view.
Result<PtView> read_pt(std::span<const std::byte> file, PtCheck check = PtCheck::everything);

}  // namespace aoti_dbg
