// What stands around the bytes of a tensor in a `.pt` file, which torch.load() gives back as the very tensor;
// for what torch.save() would write, the same bytes. Reads and writes no file; pt_reader.hpp reads them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "stats_kernels/tensor_view.hpp"

namespace aoti_dbg {

/// torch.save()'s default, for the bytes of the storage in the file.
inline constexpr std::uint32_t kPtAlignment = 64;

/// A tensor as torch.save() would describe it: a view of a storage, whose bytes are in the file from its
/// first element on. As many strides as sizes, neither negative; the view lies within the storage.
struct PtTensor {
    DType dtype;
    std::span<const std::int64_t> sizes;
    std::span<const std::int64_t> strides;  // in elements
    std::int64_t storage_offset = 0;        // in elements
    std::uint64_t storage_bytes = 0;
    std::string_view device;  // "cpu", "cuda:0"
    MathBits bits = {};       // torch.load() sets them; the storage's bytes are as in memory
};

/// The file is head, the storage's bytes, tail. The head does not depend on the checksum, so a file may be
/// written front to back, and the bytes of the storage as they come.
struct PtFrame {
    std::vector<std::byte> head;  // its size is a multiple of kPtAlignment
    std::vector<std::byte> tail;
};

/// `crc_of_storage` is crc32() of its bytes.
PtFrame pt_frame(const PtTensor& tensor, std::uint32_t crc_of_storage);

}  // namespace aoti_dbg
