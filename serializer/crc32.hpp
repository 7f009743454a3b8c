// CRC-32 of zip files at memory speed. Checksums of parts combine in logarithmic time, so threads can share a
// tensor and a hole in a file costs nothing. It must not allocate; any thread may call it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace aoti_dbg {

/// Extends `crc_so_far` by the bytes that follow. Start with 0.
std::uint32_t crc32(std::uint32_t crc_so_far, std::span<const std::byte> bytes);

/// Returns the checksum of two adjacent ranges, given the checksum of each.
std::uint32_t crc32_combine(std::uint32_t first, std::uint32_t second, std::uint64_t bytes_of_second);

/// Returns the checksum of `bytes` zero bytes.
std::uint32_t crc32_of_zeros(std::uint64_t bytes);

/// The implementations that crc32() chooses from, exposed for tests.
std::uint32_t crc32_by_tables(std::uint32_t crc_so_far, std::span<const std::byte> bytes);
/// Uses carry-less multiplication if the processor has it, else tables.
std::uint32_t crc32_by_folding(std::uint32_t crc_so_far, std::span<const std::byte> bytes);
bool crc32_can_fold();

}  // namespace aoti_dbg
