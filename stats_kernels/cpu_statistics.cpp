// The CPU implementation. It decodes blocks of elements to doubles, which are exact except for 64-bit
// integers, and sums them relative to one element. Blocks with NaN or Inf are rare and take a slower path.
#include "stats_kernels/cpu_statistics.hpp"

#include "stats_kernels/content_hash.hpp"
#include "stats_kernels/cpu_blocks.hpp"
#include "stats_kernels/float_state.hpp"
#include "stats_kernels/logical_walk.hpp"
#include "stats_kernels/math_bits.hpp"

namespace aoti_dbg {

namespace {

constexpr double kLargest = 0x1.fffffffffffffp1023;

/// A block of elements in logical order.
struct Block {
    const unsigned char* raw;
    std::uint32_t count;
    std::uint64_t first_index;
};

std::uint64_t load_word(const unsigned char* raw) {
    std::uint64_t word = 0;
    __builtin_memcpy(&word, raw, sizeof(word));
    return word;
}

std::uint64_t hash_of(const Block& block, std::uint32_t element_bytes) {
    const std::size_t bytes = std::size_t{block.count} * element_bytes;
    std::uint64_t group = block.first_index * element_bytes / kHashGroupBytes;
    std::uint64_t hash = 0;
    std::size_t at = 0;
    for (; at + kHashGroupBytes <= bytes; at += kHashGroupBytes, ++group)
        hash += hash_group(group, load_word(block.raw + at), load_word(block.raw + at + 8));
    if (at < bytes) {
        unsigned char last[kHashGroupBytes] = {};
        __builtin_memcpy(last, block.raw + at, bytes - at);
        hash += hash_group(group, load_word(last), load_word(last + 8));
    }
    return hash;
}

template <typename Is>
void count_specials(const double* numbers, const Block& block, const Is& is, std::uint64_t& count,
                    std::uint64_t& first) {
    std::uint64_t found = 0;
    for (std::uint32_t i = 0; i < block.count; ++i)
        found += is(numbers[i]) ? 1 : 0;
    count += found;
    if (found == 0 || first != kNoIndex) return;  // blocks come in order
    std::uint32_t at = 0;
    while (!is(numbers[at]))
        ++at;
    first = block.first_index + at;
}

/// Counts NaN and Inf and moves the finite numbers to the front. Returns the number of finite ones. It does
/// not branch on the numbers, because a mask of -Inf is effectively random.
std::uint32_t set_specials_aside(double* numbers, const Block& block, PartialStatistics& into) {
    count_specials(
        numbers, block, [](double number) { return number != number; }, into.nan, into.first_nan);
    count_specials(
        numbers, block, [](double number) { return number > kLargest; }, into.positive_infinity,
        into.first_positive_infinity);
    count_specials(
        numbers, block, [](double number) { return number < -kLargest; }, into.negative_infinity,
        into.first_negative_infinity);
    std::uint32_t kept = 0;
    for (std::uint32_t i = 0; i < block.count; ++i) {
        const double number = numbers[i];
        numbers[kept] = number;
        kept +=
            static_cast<std::uint32_t>(number >= -kLargest) & static_cast<std::uint32_t>(number <= kLargest);
    }
    return kept;
}

std::uint64_t index_of(const double* numbers, const Block& block, double number) {
    for (std::uint32_t i = 0; i < block.count; ++i)
        if (numbers[i] == number) return block.first_index + i;
    return kNoIndex;
}

/// Handles finite numbers whose squares may overflow. It scales them before adding.
void add_moments_carefully(const double* numbers, std::uint32_t count, PartialStatistics& into) {
    double mean = 0;
    for (std::uint32_t i = 0; i < count; ++i)
        mean += numbers[i] / count;
    double m2 = 0;
    for (std::uint32_t i = 0; i < count; ++i)
        m2 += (numbers[i] - mean) * (numbers[i] - mean);
    auto so_far = static_cast<double>(into.finite);
    merge_moments(so_far, into.mean, into.m2, count, mean, m2);
}

void add_moments(const BlockSummary& summary, std::uint32_t count, PartialStatistics& into) {
    const double shifted_mean = summary.sum / count;
    const double m2 = summary.squares - summary.sum * shifted_mean;
    auto so_far = static_cast<double>(into.finite);
    merge_moments(so_far, into.mean, into.m2, count, summary.shift + shifted_mean, m2 > 0 ? m2 : 0);
}

void add_extremes(PartialStatistics& into, std::uint64_t minimum_key, std::uint64_t maximum_key,
                  const auto& index_of_minimum, const auto& index_of_maximum) {
    // Blocks come in order, so a later equal value is not the first.
    const bool first = into.finite == 0;
    if (first || minimum_key < into.minimum_key) {
        into.minimum_key = minimum_key;
        into.minimum_index = index_of_minimum();
    }
    if (first || maximum_key > into.maximum_key) {
        into.maximum_key = maximum_key;
        into.maximum_index = index_of_maximum();
    }
}

/// Adds blocks in sequence. BlockStatistics below decides what is requested.
class NumberStatistics {
  public:
    NumberStatistics(DType dtype, Requested requested, const BlockKernels& kernels)
        : dtype_(dtype), indices_(wants(requested, Requested::indices)), kernels_(kernels) {}

    /// `numbers` must have room for kBlockElements and is overwritten.
    void add(double* numbers, const Block& block, PartialStatistics& into) const {
        BlockSummary summary;
        kernels_.summarise(numbers, block.count, summary);
        if (summary.squares <= kLargest) {
            take(numbers, block, summary, block.count, into);
            add_moments(summary, block.count, into);
            into.finite += block.count;
            return;
        }
        double original[kBlockElements];
        __builtin_memcpy(original, numbers, block.count * sizeof(double));
        const std::uint32_t kept = set_specials_aside(numbers, block, into);
        if (kept == 0) return;
        kernels_.summarise(numbers, kept, summary);
        take(original, block, summary, kept, into);
        if (summary.squares <= kLargest)
            add_moments(summary, kept, into);
        else
            add_moments_carefully(numbers, kept, into);
        into.finite += kept;
    }

  private:
    void take(const double* numbers, const Block& block, const BlockSummary& summary, std::uint32_t count,
              PartialStatistics& into) const {
        add_extremes(
            into, key(summary.minimum), key(summary.maximum),
            [&] { return indices_ ? index_of(numbers, block, summary.minimum) : kNoIndex; },
            [&] { return indices_ ? index_of(numbers, block, summary.maximum) : kNoIndex; });
        into.zeros += summary.zeros;
        if (is_integer(dtype_)) {
            // Distances of integers below 2^33 in a block are exact, and so is their sum.
            const auto sum = static_cast<std::int64_t>(summary.sum) +
                             static_cast<std::int64_t>(summary.shift) * static_cast<std::int64_t>(count);
            add_to_sum(into, static_cast<std::uint64_t>(sum), sum < 0 ? UINT64_MAX : 0);
        }
    }

    [[nodiscard]] std::uint64_t key(double number) const {
        if (!is_integer(dtype_)) return key_of(number);
        if (is_unsigned(dtype_)) return key_of(static_cast<std::uint64_t>(number));
        return key_of(static_cast<std::int64_t>(number));
    }

    DType dtype_;
    bool indices_;
    const BlockKernels& kernels_;
};

/// Returns the exact distance rounded to double. Both numbers may exceed 2^53.
template <typename T>
double distance(T from, T to) {
    const auto a = static_cast<std::uint64_t>(from);
    const auto b = static_cast<std::uint64_t>(to);
    return to >= from ? static_cast<double>(b - a) : -static_cast<double>(a - b);
}

/// Handles 64-bit integers: integer extremes and sum, moments from exact distances.
template <typename T>
void add_wide_integers(const Block& block, PartialStatistics& into) {
    const auto element = [&](std::uint32_t i) {
        return static_cast<T>(load_word(block.raw + std::size_t{i} * sizeof(T)));
    };
    const T shift = element(0);
    T minimum = shift;
    T maximum = shift;
    BlockSummary summary;
    for (std::uint32_t i = 0; i < block.count; ++i) {
        const T number = element(i);
        if (number < minimum) minimum = number;
        if (number > maximum) maximum = number;
        into.zeros += number == 0 ? 1 : 0;
        const bool negative = number < T{0};
        add_to_sum(into, static_cast<std::uint64_t>(number), negative ? UINT64_MAX : 0);
        const double d = distance(shift, number);
        summary.sum += d;
        summary.squares += d * d;
    }
    const auto find = [&](T number) {
        for (std::uint32_t i = 0; i < block.count; ++i)
            if (element(i) == number) return block.first_index + i;
        return kNoIndex;
    };
    add_extremes(
        into, key_of(minimum), key_of(maximum), [&] { return find(minimum); }, [&] { return find(maximum); });
    summary.shift = static_cast<double>(shift);
    add_moments(summary, block.count, into);
    into.finite += block.count;
}

/// Computes the requested statistics of a tensor's blocks.
class BlockStatistics {
  public:
    BlockStatistics(DType dtype, Requested requested, const BlockKernels& kernels)
        : dtype_(dtype),
          requested_(requested),
          kernels_(kernels),
          numbers_(part_dtype(dtype), requested, kernels) {}

    void add(const Block& block, TensorPartial& into) const {
        if (wants(requested_, Requested::hash)) into.hash += hash_of(block, element_size(dtype_));
        if (wants(requested_, Requested::printed | Requested::indices))
            add_numbers(block, into);
        else if (wants(requested_, Requested::findings) && !is_always_finite(dtype_))
            add_findings(block, into);
    }

  private:
    void add_numbers(const Block& block, TensorPartial& into) const {
        if (dtype_ == DType::int64) return add_wide_integers<std::int64_t>(block, into.parts[0]);
        if (dtype_ == DType::uint64) return add_wide_integers<std::uint64_t>(block, into.parts[0]);
        for (std::uint32_t part = 0; part < numbers_in_element(dtype_); ++part) {
            alignas(64) double numbers[kBlockElements];
            read(block, part, numbers);
            numbers_.add(numbers, block, into.parts[part]);
        }
    }

    void add_findings(const Block& block, TensorPartial& into) const {
        const std::uint32_t parts = is_complex(dtype_) ? 2 : 1;
        if (!kernels_.any_special(part_dtype(dtype_), block.raw, block.count * parts)) return;
        for (std::uint32_t part = 0; part < parts; ++part) {
            alignas(64) double numbers[kBlockElements];
            read(block, part, numbers);
            set_specials_aside(numbers, block, into.parts[part]);
        }
    }

    void read(const Block& block, std::uint32_t part, double* numbers) const {
        if (numbers_in_element(dtype_) == 1) return kernels_.decode(dtype_, block.raw, block.count, numbers);
        constexpr std::uint32_t kHalf = kBlockElements / 2;
        const std::uint32_t bytes = element_size(dtype_);
        for (std::uint32_t begin = 0; begin < block.count; begin += kHalf) {
            alignas(64) double both[kBlockElements];
            const std::uint32_t count = block.count - begin < kHalf ? block.count - begin : kHalf;
            kernels_.decode(part_dtype(dtype_), block.raw + std::size_t{begin} * bytes, count * 2, both);
            for (std::uint32_t i = 0; i < count; ++i)
                numbers[begin + i] = both[2 * i + part];
        }
    }

    DType dtype_;
    Requested requested_;
    const BlockKernels& kernels_;
    NumberStatistics numbers_;
};

/// Until here the high numbers of the elements are a part of their own, as if they were imaginary.
void merge_packed(TensorPartial& partial) {
    merge(partial.parts[0], partial.parts[1]);
    partial.parts[1] = {};
}

}  // namespace

std::uint64_t range_begin(std::uint64_t count, std::uint32_t part, std::uint32_t parts) {
    if (part >= parts) return count;
    const std::uint64_t grains = count / kRangeGrain;
    return (grains / parts * part + grains % parts * part / parts) * kRangeGrain;
}

TensorPartial measure_range(const TensorView& tensor, Requested requested, std::uint64_t begin,
                            std::uint64_t end, const BlockKernels& kernels) {
    TensorPartial partial;
    if (begin >= end) return partial;
    const DefaultFloatState state;
    const Layout layout = depends_on_order(requested)
                              ? collapse(tensor.sizes, tensor.strides)
                              : collapse_in_memory_order(tensor.sizes, tensor.strides);
    const std::uint32_t bytes = element_size(tensor.dtype);
    const auto* data = static_cast<const unsigned char*>(tensor.data);
    LogicalWalk walk(data, bytes, layout, begin);
    const BlockStatistics statistics(tensor.dtype, requested, kernels);
    const SignMask mask = sign_mask(tensor.bits, tensor.dtype);
    const bool in_place = layout.is_contiguous() && !tensor.bits.any();
    unsigned char gathered[std::size_t{kBlockElements} * 16];
    for (std::uint64_t at = begin; at < end; at += kBlockElements) {
        const std::uint64_t left = end - at;
        const auto count = static_cast<std::uint32_t>(left < kBlockElements ? left : kBlockElements);
        const unsigned char* raw = gathered;
        if (in_place) {
            raw = data + at * bytes;
        } else {
            walk.gather(count, gathered);
            flip_signs(mask, gathered, std::uint64_t{count} * bytes);
        }
        statistics.add(Block{raw, count, at}, partial);
    }
    if (is_packed(tensor.dtype)) merge_packed(partial);
    return partial;
}

TensorPartial measure_range(const TensorView& tensor, Requested requested, std::uint64_t begin,
                            std::uint64_t end) {
    return measure_range(tensor, requested, begin, end, block_kernels());
}

TensorStatistics measure(const TensorView& tensor, Requested requested) {
    const TensorPartial partial = measure_range(tensor, requested, 0, element_count(tensor.sizes));
    const DefaultFloatState state;
    return finish(partial, tensor, requested);
}

}  // namespace aoti_dbg
