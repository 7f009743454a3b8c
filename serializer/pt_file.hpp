// Creates what surrounds a tensor's bytes in a `.pt` file, which torch.load() reads back as the same tensor.
// For tensors that torch.save() can write, the bytes are identical. It must not touch files; pt_reader.hpp
// reads them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "stats_kernels/tensor_view.hpp"

namespace aoti_dbg {

/// torch.save()'s default alignment of the storage bytes in the file.
inline constexpr std::uint32_t kPtAlignment = 64;

/// A tensor as torch.save() describes it: a view of a storage that the file holds from its first element. It
/// has as many strides as sizes, none negative, and lies within the storage.
struct PtTensor {
    DType dtype;
    std::span<const std::int64_t> sizes;
    std::span<const std::int64_t> strides;  // in elements
    std::int64_t storage_offset = 0;        // in elements
    std::uint64_t storage_bytes = 0;
    std::string_view device;  // "cpu", "cuda:0"
    MathBits bits = {};       // torch.load() sets them; the storage bytes stay as in memory
};

/// The file is the head, the storage bytes, then the tail. The head does not depend on the checksum, so a
/// writer can stream the file front to back.
struct PtFrame {
    std::vector<std::byte> head;  // its size is a multiple of kPtAlignment
    std::vector<std::byte> tail;
};

/// `crc_of_storage` is the crc32() of the storage bytes.
PtFrame pt_frame(const PtTensor& tensor, std::uint32_t crc_of_storage);

}  // namespace aoti_dbg
