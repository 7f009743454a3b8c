// What a launch leaves in the host's memory: lines of 64 bytes, each by one warp in one go. A line says
// itself whether it is whole, so the device waits for nothing, and no block for another: the host adds up
// what the blocks have left. It does so beside the program, where the device's time would be the program's.
//
// Of a job of B blocks, one after the other:
//
//   for each part, one or two (complex): B lines of moments; of floats B lines of specials; of integers, and
//   where indices or a hash are wanted, B lines of places
//   of a tensor of at most kMostValues elements, if printed: its elements in logical order, seven words a
//   line
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "stats_kernels/partial.hpp"
#include "stats_kernels/statistics.hpp"

namespace aoti_dbg {

inline constexpr std::uint32_t kLineWords = 7;

struct alignas(64) ResultLine {
    std::uint32_t check = 0;
    std::uint32_t sequence = 0;  // of the launch; no line is ever written twice with the same
    std::uint64_t words[kLineWords] = {};
};
static_assert(sizeof(ResultLine) == 64);

/// A line's check is the sum over its words and its sequence, each with its own place.
AOTI_DBG_HOST_DEVICE constexpr std::uint32_t check_of(std::uint64_t word, std::uint32_t place) {
    // Odd, and of each place another: what two words lose and gain alike must not cancel out.
    const std::uint64_t factor = 0xd6e8feb86659fd93ULL + place * 0x3c6ef372fe94f82aULL;
    const std::uint64_t mixed = (word ^ word >> 32U) * factor;
    return static_cast<std::uint32_t>(mixed >> 32U);
}
inline constexpr std::uint32_t kPlaceOfSequence = kLineWords;

/// The words of a line of moments...
enum MomentsWord : std::uint32_t { kFinite, kMean, kM2, kZeros, kMinimumKey, kMaximumKey, kFlags };
/// ...whose flags say that the line of specials was written, or that nothing was, for the job was refused.
inline constexpr std::uint64_t kHasSpecials = 1;
inline constexpr std::uint64_t kRefused = 2;
/// Of a line of specials.
enum SpecialsWord : std::uint32_t { kNan, kPositive, kNegative, kFirstNan, kFirstPositive, kFirstNegative };
/// Of a line of places.
enum PlacesWord : std::uint32_t { kMinimumIndex, kMaximumIndex, kHash, kSumLow, kSumHigh };

/// Tensors of no more elements have them brought to the host.
inline constexpr std::uint32_t kMostValues = 64;

AOTI_DBG_HOST_DEVICE constexpr bool has_special_lines(DType dtype) {
    return !is_integer(dtype);
}
AOTI_DBG_HOST_DEVICE constexpr bool has_place_lines(DType dtype, Wanted wanted) {
    return is_integer(dtype) || depends_on_order(wanted);
}
/// Lines that a block leaves of a part, and parts.
AOTI_DBG_HOST_DEVICE constexpr std::uint32_t line_kinds(DType dtype, Wanted wanted) {
    return 1U + (has_special_lines(dtype) ? 1 : 0) + (has_place_lines(dtype, wanted) ? 1 : 0);
}
AOTI_DBG_HOST_DEVICE constexpr std::uint32_t line_parts(DType dtype) {
    return is_complex(dtype) ? 2 : 1;
}
AOTI_DBG_HOST_DEVICE constexpr std::uint32_t value_bytes(DType dtype, Wanted wanted, std::uint64_t count) {
    if (count > kMostValues || !wants(wanted, Wanted::printed)) return 0;
    return static_cast<std::uint32_t>(count) * element_size(dtype);
}
AOTI_DBG_HOST_DEVICE constexpr std::uint32_t value_lines(std::uint32_t bytes) {
    return (bytes + kLineWords * 8 - 1) / (kLineWords * 8);
}

/// The lines of one job.
struct ResultShape {
    std::uint32_t blocks = 0;
    DType dtype = DType::float32;
    Wanted wanted = Wanted::nothing;
    std::uint32_t bytes_of_values = 0;

    [[nodiscard]] std::uint32_t lines_of_blocks() const {
        return blocks * line_parts(dtype) * line_kinds(dtype, wanted);
    }
    [[nodiscard]] std::uint32_t lines() const { return lines_of_blocks() + value_lines(bytes_of_values); }
};

enum class Gathered : std::uint8_t { not_yet, whole, refused };

/// Adds up what the blocks of a job have left, while the device may be writing.
Gathered gather(const ResultLine* lines, const ResultShape& shape, std::uint32_t sequence,
                TensorPartial& total);

/// The elements, as many bytes as the shape says; false where they are not there yet.
bool gather_values(const ResultLine* lines, const ResultShape& shape, std::uint32_t sequence,
                   std::span<std::byte> values);

using LineWords = std::array<std::uint64_t, kLineWords>;

/// A line as the device leaves it; false while it is not there, or only a part of it. What the device has
/// sent before it is there then, too.
bool read_line(const ResultLine& line, std::uint32_t sequence, LineWords& words);

/// Writes a line as the device does. What reads it may be reading.
void write_line(ResultLine& line, std::uint32_t sequence, std::span<const std::uint64_t> words);

/// In place of all lines of a job that is never launched: gather() says so.
void write_refusal(ResultLine* lines, std::uint32_t sequence);

}  // namespace aoti_dbg
