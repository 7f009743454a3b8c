#include "stats_kernels/result_lines.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace aoti_dbg {

namespace {

std::uint32_t check_of_line(std::uint32_t sequence, const LineWords& words) {
    std::uint32_t check = check_of(sequence, kPlaceOfSequence);
    for (std::uint32_t i = 0; i < kLineWords; ++i)
        check += check_of(words[i], i);
    return check;
}

/// Sums distances from the first block's mean, which needs no division. It is exact except for rounding,
/// because large distances between means show up in the squares.
class MomentsOfBlocks {
  public:
    void add(double count, double mean, double m2) {
        if (count == 0) return;
        if (count_ == 0) reference_ = mean;
        const double distance = mean - reference_;
        count_ += count;
        sum_ += count * distance;
        squares_ += m2 + count * distance * distance;
    }

    /// Returns false if the sums exceed the range of double.
    bool finish(PartialStatistics& part) const {
        if (count_ == 0) return true;
        const double distance = sum_ / count_;
        part.mean = reference_ + distance;
        part.m2 = std::max(squares_ - sum_ * distance, 0.0);
        return part.m2 - part.m2 == 0 && part.mean - part.mean == 0;
    }

  private:
    double count_ = 0;
    double reference_ = 0;
    double sum_ = 0;
    double squares_ = 0;
};

void take_moments(const LineWords& words, PartialStatistics& block) {
    block.finite = words[kFinite];
    block.mean = std::bit_cast<double>(words[kMean]);
    block.m2 = std::bit_cast<double>(words[kM2]);
    block.zeros = words[kZeros];
    block.minimum_key = words[kMinimumKey];
    block.maximum_key = words[kMaximumKey];
}

/// Does what merge_exact() does for a block with moments only. Without indices, the first of two equal
/// extremes does not matter.
void merge_moments_line(PartialStatistics& part, const LineWords& words) {
    part.finite += words[kFinite];
    part.zeros += words[kZeros];
    part.minimum_key = std::min(part.minimum_key, words[kMinimumKey]);
    part.maximum_key = std::max(part.maximum_key, words[kMaximumKey]);
}

void take_specials(const LineWords& words, PartialStatistics& block) {
    block.nan = words[kNan];
    block.positive_infinity = words[kPositive];
    block.negative_infinity = words[kNegative];
    block.first_nan = words[kFirstNan];
    block.first_positive_infinity = words[kFirstPositive];
    block.first_negative_infinity = words[kFirstNegative];
}

/// The hash is in the line of the first part.
void take_places(const LineWords& words, PartialStatistics& block, std::uint64_t& hash) {
    block.minimum_index = words[kMinimumIndex];
    block.maximum_index = words[kMaximumIndex];
    block.sum_low = words[kSumLow];
    block.sum_high = words[kSumHigh];
    hash += words[kHash];
}

/// Reads the lines of a part's blocks.
class BlocksOfPart {
  public:
    BlocksOfPart(const ResultLine* lines, const ResultShape& shape, std::uint32_t sequence)
        : moments_(lines),
          specials_(lines + shape.blocks),
          places_(has_place_lines(shape.dtype, shape.requested)
                      ? lines + std::size_t{shape.blocks} * (line_kinds(shape.dtype, shape.requested) - 1)
                      : nullptr),
          sequence_(sequence) {}

    Gathered read_moments(std::uint32_t block, LineWords& words) const {
        if (!read_line(moments_[block], sequence_, words)) return Gathered::not_yet;
        return (words[kFlags] & kRefused) != 0 ? Gathered::refused : Gathered::whole;
    }

    /// Returns whether the block wrote only its moments.
    [[nodiscard]] bool is_all(const LineWords& moments) const {
        return places_ == nullptr && (moments[kFlags] & kHasSpecials) == 0;
    }

    /// Reads everything that the block wrote. Returns false while a line is missing.
    bool read_rest(std::uint32_t block, const LineWords& moments, PartialStatistics& part,
                   std::uint64_t& hash) const {
        take_moments(moments, part);
        LineWords words;
        if ((moments[kFlags] & kHasSpecials) != 0) {
            if (!read_line(specials_[block], sequence_, words)) return false;
            take_specials(words, part);
        }
        if (places_ != nullptr) {
            if (!read_line(places_[block], sequence_, words)) return false;
            take_places(words, part, hash);
        }
        return true;
    }

  private:
    const ResultLine* moments_;
    const ResultLine* specials_;
    const ResultLine* places_;  // null if there are none
    std::uint32_t sequence_;
};

Gathered gather_part(const BlocksOfPart& from, std::uint32_t blocks, PartialStatistics& part,
                     std::uint64_t& hash) {
    MomentsOfBlocks moments;
    LineWords words;
    for (std::uint32_t i = 0; i < blocks; ++i) {
        const Gathered gathered = from.read_moments(i, words);
        if (gathered != Gathered::whole) return gathered;
        moments.add(static_cast<double>(words[kFinite]), std::bit_cast<double>(words[kMean]),
                    std::bit_cast<double>(words[kM2]));
        if (from.is_all(words)) {
            merge_moments_line(part, words);  // nearly every line of nearly every tensor
            continue;
        }
        PartialStatistics block;
        if (!from.read_rest(i, words, block, hash)) return Gathered::not_yet;
        merge_exact(part, block);
    }
    if (moments.finish(part)) return Gathered::whole;
    // Repeat with a mean that cannot exceed the range.
    PartialStatistics careful;
    std::uint64_t same_hash = 0;
    for (std::uint32_t i = 0; i < blocks; ++i) {
        PartialStatistics block;
        if (from.read_moments(i, words) != Gathered::whole || !from.read_rest(i, words, block, same_hash))
            return Gathered::not_yet;
        merge(careful, block);
    }
    part.mean = careful.mean;
    part.m2 = careful.m2;
    return Gathered::whole;
}

}  // namespace

bool read_line(const ResultLine& line, std::uint32_t sequence, LineWords& words) {
    if (__atomic_load_n(&line.sequence, __ATOMIC_ACQUIRE) != sequence) return false;
    const std::uint32_t check = __atomic_load_n(&line.check, __ATOMIC_RELAXED);
    for (std::uint32_t i = 0; i < kLineWords; ++i)
        words[i] = __atomic_load_n(&line.words[i], __ATOMIC_RELAXED);
    return check == check_of_line(sequence, words);
}

Gathered gather(const ResultLine* lines, const ResultShape& shape, std::uint32_t sequence,
                TensorPartial& total) {
    total = {};
    const std::size_t lines_of_part = std::size_t{shape.blocks} * line_kinds(shape.dtype, shape.requested);
    for (std::uint32_t part = 0; part < line_parts(shape.dtype); ++part) {
        const BlocksOfPart from(lines + part * lines_of_part, shape, sequence);
        const Gathered gathered = gather_part(from, shape.blocks, total.parts[part], total.hash);
        if (gathered != Gathered::whole) return gathered;
    }
    return Gathered::whole;
}

bool gather_values(const ResultLine* lines, const ResultShape& shape, std::uint32_t sequence,
                   std::span<std::byte> values) {
    const ResultLine* line = lines + shape.lines_of_blocks();
    for (std::size_t at = 0; at < values.size(); at += sizeof(LineWords), ++line) {
        LineWords words;
        if (!read_line(*line, sequence, words)) return false;
        std::memcpy(&values[at], words.data(), std::min(sizeof(LineWords), values.size() - at));
    }
    return true;
}

void write_line(ResultLine& line, std::uint32_t sequence, std::span<const std::uint64_t> words) {
    LineWords all{};
    std::copy_n(words.begin(), std::min(words.size(), all.size()), all.begin());
    __atomic_store_n(&line.check, check_of_line(sequence, all), __ATOMIC_RELAXED);
    for (std::uint32_t i = 0; i < kLineWords; ++i)
        __atomic_store_n(&line.words[i], all[i], __ATOMIC_RELAXED);
    __atomic_store_n(&line.sequence, sequence, __ATOMIC_RELEASE);
}

void write_refusal(ResultLine* lines, std::uint32_t sequence) {
    LineWords words{};
    words[kFlags] = kRefused;
    write_line(*lines, sequence, words);
}

}  // namespace aoti_dbg
