// A copy of a `.pt` file in which random contents replace the tensor's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "serializer/pt_file.hpp"
#include "serializer/pt_reader.hpp"

namespace aoti_dbg::cli {

/// Returns the size of the redacted file in bytes. Does not read the contents.
Result<std::uint64_t> redacted_bytes(std::span<const std::byte> file);

struct RedactedTensor {
    PtFrame frame;
    std::vector<std::byte> storage;
};
/// Reads the file and its contents. Keeps one storage in memory.
Result<RedactedTensor> redacted_tensor(std::span<const std::byte> file, std::uint64_t seed);

}  // namespace aoti_dbg::cli
