// The CRC-32 of zip files, as fast as memory gives bytes. Checksums of parts join in logarithmic time, so
// threads can share a tensor and a hole in a file costs nothing. Allocates nothing; may be called by any
// thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace aoti_dbg {

/// Of what `crc_so_far` is of (0: of nothing) and `bytes` behind it.
std::uint32_t crc32(std::uint32_t crc_so_far, std::span<const std::byte> bytes);

/// Of two stretches, one behind the other, from those of each.
std::uint32_t crc32_combine(std::uint32_t first, std::uint32_t second, std::uint64_t bytes_of_second);

/// Of so many bytes that are zero.
std::uint32_t crc32_of_zeros(std::uint64_t bytes);

/// What crc32() chooses from; here for tests.
std::uint32_t crc32_by_tables(std::uint32_t crc_so_far, std::span<const std::byte> bytes);
/// Carry-less multiplication, where the processor has it; else by tables.
std::uint32_t crc32_by_folding(std::uint32_t crc_so_far, std::span<const std::byte> bytes);
bool crc32_can_fold();

}  // namespace aoti_dbg
