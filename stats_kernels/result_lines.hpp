// The results of a launch in host memory: lines of 64 bytes, each written at once by one warp. A line shows
// whether it is whole, so neither the device nor a block waits. The host adds up the lines in parallel to the
// program. On the device this would cost the program's time.
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
    std::uint32_t sequence = 0;  // of the launch; no line is written twice with the same value
    std::uint64_t words[kLineWords] = {};
};
static_assert(sizeof(ResultLine) == 64);

/// The check of a line is the sum over its words and its sequence, each mixed with its place.
AOTI_DBG_HOST_DEVICE constexpr std::uint32_t check_of(std::uint64_t word, std::uint32_t place) {
    // The factor is odd and differs by place, so that equal changes of two words do not cancel out.
    const std::uint64_t factor = 0xd6e8feb86659fd93ULL + place * 0x3c6ef372fe94f82aULL;
    const std::uint64_t mixed = (word ^ word >> 32U) * factor;
    return static_cast<std::uint32_t>(mixed >> 32U);
}
inline constexpr std::uint32_t kPlaceOfSequence = kLineWords;

/// The words of a line of moments.
enum MomentsWord : std::uint32_t { kFinite, kMean, kM2, kZeros, kMinimumKey, kMaximumKey, kFlags };
/// The flags of such a line: the line of specials was written, or the job was refused and nothing was
/// written.
inline constexpr std::uint64_t kHasSpecials = 1;
inline constexpr std::uint64_t kRefused = 2;
/// The words of a line of specials.
enum SpecialsWord : std::uint32_t { kNan, kPositive, kNegative, kFirstNan, kFirstPositive, kFirstNegative };
/// The words of a line of places.
enum PlacesWord : std::uint32_t { kMinimumIndex, kMaximumIndex, kHash, kSumLow, kSumHigh };

/// Tensors up to this size send their elements to the host.
inline constexpr std::uint32_t kMostValues = 64;

AOTI_DBG_HOST_DEVICE constexpr bool has_special_lines(DType dtype) {
    return !is_always_finite(dtype);
}
AOTI_DBG_HOST_DEVICE constexpr bool has_place_lines(DType dtype, Requested requested) {
    return is_integer(dtype) || depends_on_order(requested);
}
/// Return the number of lines per block and part, and the number of parts.
AOTI_DBG_HOST_DEVICE constexpr std::uint32_t line_kinds(DType dtype, Requested requested) {
    return 1U + (has_special_lines(dtype) ? 1 : 0) + (has_place_lines(dtype, requested) ? 1 : 0);
}
AOTI_DBG_HOST_DEVICE constexpr std::uint32_t line_parts(DType dtype) {
    return is_complex(dtype) ? 2 : 1;
}
AOTI_DBG_HOST_DEVICE constexpr std::uint32_t value_bytes(DType dtype, Requested requested,
                                                         std::uint64_t count) {
    if (count > kMostValues || !wants(requested, Requested::printed)) return 0;
    return static_cast<std::uint32_t>(count) * element_size(dtype);
}
AOTI_DBG_HOST_DEVICE constexpr std::uint32_t value_lines(std::uint32_t bytes) {
    return (bytes + kLineWords * 8 - 1) / (kLineWords * 8);
}

/// The lines of one job with B blocks, in this order:
///
/// - for each part, one or two (complex): B lines of moments; for dtypes with NaN or Inf B lines of
///   specials; for integers, indices or a hash, B lines of places
/// - for a printed tensor of at most kMostValues elements: its elements in logical order, seven words a line
struct ResultShape {
    std::uint32_t blocks = 0;
    DType dtype = DType::float32;
    Requested requested = Requested::nothing;
    std::uint32_t bytes_of_values = 0;

    [[nodiscard]] std::uint32_t lines_of_blocks() const {
        return blocks * line_parts(dtype) * line_kinds(dtype, requested);
    }
    [[nodiscard]] std::uint32_t lines() const { return lines_of_blocks() + value_lines(bytes_of_values); }
};

enum class Gathered : std::uint8_t { not_yet, whole, refused };

/// Adds up what the blocks of a job wrote. The device may still be writing.
Gathered gather(const ResultLine* lines, const ResultShape& shape, std::uint32_t sequence,
                TensorPartial& total);

/// Copies the elements, as many bytes as the shape says. Returns false if they have not arrived yet.
bool gather_values(const ResultLine* lines, const ResultShape& shape, std::uint32_t sequence,
                   std::span<std::byte> values);

using LineWords = std::array<std::uint64_t, kLineWords>;

/// Reads a line that the device wrote. Returns false if it is missing or incomplete. If it returns true,
/// everything that the device sent earlier has arrived too.
bool read_line(const ResultLine& line, std::uint32_t sequence, LineWords& words);

/// Writes a line as the device does. Another thread may read it at the same time.
void write_line(ResultLine& line, std::uint32_t sequence, std::span<const std::uint64_t> words);

/// Marks a job that is never launched as refused, in place of all its lines. gather() reports it.
void write_refusal(ResultLine* lines, std::uint32_t sequence);

}  // namespace aoti_dbg
