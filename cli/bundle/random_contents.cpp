// See random_contents.hpp. The command has no libm, so a normal number is the sum of 12 uniform ones.
#include "cli/bundle/random_contents.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "cli/tensor_elements.hpp"
#include "stats_kernels/cpu_statistics.hpp"
#include "stats_kernels/element_decode.hpp"

namespace aoti_dbg::cli {
namespace {

/// SplitMix64.
class Random {
  public:
    explicit Random(std::uint64_t seed) : state_(seed) {}
    std::uint64_t next() {
        std::uint64_t mixed = state_ += 0x9e3779b97f4a7c15ULL;
        mixed = (mixed ^ mixed >> 30U) * 0xbf58476d1ce4e5b9ULL;
        mixed = (mixed ^ mixed >> 27U) * 0x94d049bb133111ebULL;
        return mixed ^ mixed >> 31U;
    }
    /// `limit` must not be 0.
    std::uint64_t below(std::uint64_t limit) {
        __extension__ using Wide = unsigned __int128;
        return static_cast<std::uint64_t>(static_cast<Wide>(next()) * limit >> 64U);
    }
    /// Mean 0, standard deviation 1, within 6 of 0.
    double normal() {
        constexpr std::uint64_t kPieces = 0x0000ffff0000ffffULL;
        std::uint64_t sums = 0;  // two, of six uniform numbers of 16 bits each
        for (int word = 0; word < 3; ++word) {
            const std::uint64_t bits = next();
            sums += (bits & kPieces) + (bits >> 16U & kPieces);
        }
        const auto sum = static_cast<double>((sums & 0xffffffffU) + (sums >> 32U));
        return (sum + 6) / 65536 - 6;
    }

  private:
    std::uint64_t state_;
};

/// Encodes floats. Each kind rounds monotonically, so encoded bounds stay bounds.
class Encoder {
  public:
    explicit Encoder(DType dtype) : dtype_(dtype) {
        const std::uint32_t patterns = dtype == DType::float4_e2m1fn_x2 ? 16 : is_float8(dtype) ? 256 : 0;
        for (std::uint32_t bits = 0; bits < patterns; ++bits)
            add_pattern(static_cast<std::uint8_t>(bits));
        std::ranges::sort(finite_, {}, &Pattern::value);
    }

    [[nodiscard]] std::uint64_t encode(double value) const {
        if (dtype_ == DType::float64) return bits_of_double(value);
        const auto single = static_cast<float>(value);
        switch (dtype_) {
            case DType::float32:
                return __builtin_bit_cast(std::uint32_t, single);
            case DType::bfloat16:
                return value != value ? 0x7fc0 : __builtin_bit_cast(std::uint32_t, single) >> 16U;
            case DType::float16:
                return half(single);
            default:
                return narrow(single);
        }
    }

  private:
    struct Pattern {
        float value = 0;
        std::uint8_t bits = 0;
    };

    void add_pattern(std::uint8_t bits) {
        const float value = is_float8(dtype_) ? decode_float8(dtype_, bits) : decode_float4(bits);
        if (value != value)
            nan_ = bits;
        else if (value - value != 0)
            (value > 0 ? positive_infinity_ : negative_infinity_) = bits;
        else
            finite_.push_back({value, bits});
    }

    /// Rounds toward zero.
    static std::uint64_t half(float value) {
        const auto bits = __builtin_bit_cast(std::uint32_t, value);
        const std::uint32_t sign = bits >> 16U & 0x8000U;
        const std::uint32_t magnitude = bits & 0x7fffffffU;
        if (magnitude > kFloatInfinity) return sign | 0x7e00U;
        if (magnitude == kFloatInfinity) return sign | 0x7c00U;
        if (magnitude >= 113U << 23U) return sign | (magnitude - (112U << 23U)) >> 13U;
        return sign | static_cast<std::uint32_t>(float_of_bits(magnitude) * 0x1p24F);
    }

    [[nodiscard]] std::uint64_t narrow(float value) const {
        if (value != value) return nan_;
        if (value - value != 0) return value > 0 ? positive_infinity_ : negative_infinity_;
        const auto above = std::ranges::lower_bound(finite_, value, {}, &Pattern::value);
        if (above == finite_.end()) return finite_.back().bits;
        if (above == finite_.begin()) return above->bits;
        const Pattern& below = *(above - 1);
        return value - below.value < above->value - value ? below.bits : above->bits;
    }

    DType dtype_;
    std::vector<Pattern> finite_;  // ascending; only of the kinds with at most 8 bits
    std::uint8_t nan_ = 0;
    std::uint8_t positive_infinity_ = 0;
    std::uint8_t negative_infinity_ = 0;
};

/// Draws the numbers of one part of a tensor, each as the bits of its dtype.
class Numbers {
  public:
    Numbers(DType dtype, const RealStatistics& statistics, std::uint64_t count, Random& random)
        : dtype_(dtype), like_(statistics), left_(count), random_(random), encoder_(dtype) {}

    std::uint64_t next() {
        if (dtype_ == DType::boolean) return next_bool();
        return is_integer(dtype_) ? next_integer() : encoder_.encode(next_float());
    }

  private:
    /// Returns true for `left` of all numbers that are left, at random places.
    bool is_one_of(std::uint64_t& left, std::uint64_t& place) {
        if (place < left) {
            --left;
            return true;
        }
        place -= left;
        return false;
    }

    /// Returns NaN or Inf, or 0 for a finite number.
    double next_special() {
        const std::uint64_t specials = like_.nan + like_.positive_infinity + like_.negative_infinity;
        if (specials == 0) return 0;
        std::uint64_t place = random_.below(left_--);
        if (is_one_of(like_.nan, place)) return std::numeric_limits<double>::quiet_NaN();
        if (is_one_of(like_.positive_infinity, place)) return std::numeric_limits<double>::infinity();
        return is_one_of(like_.negative_infinity, place) ? -std::numeric_limits<double>::infinity() : 0;
    }

    double next_float() {
        if (const double special = next_special(); special != 0) return special;
        const Moments& finite = like_.finite;
        const double value = finite.mean + finite.standard_deviation * random_.normal();
        const double least = finite.minimum.as_double();
        const double most = finite.maximum.as_double();
        // Written so that a mean or deviation beyond all numbers gives a bound.
        return value > least ? (value < most ? value : most) : least;
    }

    std::uint64_t next_integer() {
        const Moments& all = like_.all;
        const bool is_signed = all.minimum.kind == Number::Kind::signed_integer;
        const std::uint64_t least =
            is_signed ? static_cast<std::uint64_t>(all.minimum.signed_integer) : all.minimum.unsigned_integer;
        const std::uint64_t most =
            is_signed ? static_cast<std::uint64_t>(all.maximum.signed_integer) : all.maximum.unsigned_integer;
        const std::uint64_t width = most - least + 1;
        return width == 0 ? random_.next() : least + random_.below(width);
    }

    std::uint64_t next_bool() {
        std::uint64_t place = random_.below(left_--);
        return is_one_of(like_.zeros, place) ? 0 : 1;
    }

    DType dtype_;
    RealStatistics like_;  // its counts are those left
    std::uint64_t left_;   // exact while it is needed
    Random& random_;
    Encoder encoder_;
};

void write_part(std::byte* to, std::uint64_t bits, std::size_t bytes) {
    std::memcpy(to, &bits, bytes);
}

}  // namespace

std::vector<std::byte> random_contents(const PtView& view, std::uint64_t seed) {
    std::vector<std::byte> storage(view.storage.size());
    std::vector<std::int64_t> sizes = view.sizes;
    for (std::size_t d = 0; d < sizes.size(); ++d)
        if (view.strides[d] == 0) sizes[d] = std::min<std::int64_t>(sizes[d], 1);  // of an expanded tensor
    const std::uint64_t count = element_count(sizes);
    if (count == 0) return storage;
    const std::size_t size = element_size(view.dtype);
    const std::size_t begin = static_cast<std::size_t>(view.storage_offset) * size;
    const TensorView tensor{view.storage.data() + begin, view.dtype, sizes, view.strides};
    const TensorStatistics statistics = measure(tensor, Requested::printed);
    Random random(seed);
    const DType dtype = part_dtype(view.dtype);
    Numbers numbers(dtype, statistics.real, numbers_in_part(view.dtype, count), random);
    Numbers imaginary(dtype, statistics.imaginary, count, random);
    const Layout layout = collapse_in_memory_order(sizes, view.strides);
    for_each_offset(layout, [&](std::size_t offset) {
        std::byte* const to = storage.data() + begin + offset * size;
        if (is_packed(view.dtype)) {
            const std::uint64_t low = numbers.next();
            return write_part(to, low | numbers.next() << 4U, 1);
        }
        const std::size_t bytes = element_size(dtype);
        write_part(to, numbers.next(), bytes);
        if (is_complex(view.dtype)) write_part(to + bytes, imaginary.next(), bytes);
    });
    return storage;
}

}  // namespace aoti_dbg::cli
