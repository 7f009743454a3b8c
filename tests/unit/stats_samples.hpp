// Tensors of every dtype, layout and content, generated from a seed, and the values of their bits in powers
// of two. Used by the unit tests and, on a GPU host, by tests/gpu/stats_victim.cu. Must not know how
// statistics are computed.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "stats_kernels/math_bits.hpp"
#include "stats_kernels/statistics.hpp"

namespace stats_fixture {

using namespace aoti_dbg;
using Engine = std::mt19937_64;
__extension__ using Int128 = __int128;

inline std::uint64_t below(Engine& random, std::uint64_t bound) {
    return random() % bound;
}

// ---- values, by their definition in powers of two

/// Sign, exponent, mantissa; the largest exponent is an ordinary one.
inline double small_float(std::uint64_t bits, int exponent_bits, int mantissa_bits, int bias) {
    const auto mantissa = static_cast<double>(bits & ((1ULL << mantissa_bits) - 1));
    const int exponent = static_cast<int>(bits >> mantissa_bits & ((1ULL << exponent_bits) - 1));
    const double sign = (bits >> (mantissa_bits + exponent_bits) & 1U) != 0 ? -1 : 1;
    if (exponent == 0) return sign * std::ldexp(mantissa, 1 - bias - mantissa_bits);
    return sign * std::ldexp(1 + std::ldexp(mantissa, -mantissa_bits), exponent - bias);
}

inline double ieee_float(std::uint64_t bits, int exponent_bits, int mantissa_bits) {
    const std::uint64_t all = (1ULL << exponent_bits) - 1;
    if ((bits >> mantissa_bits & all) != all)
        return small_float(bits, exponent_bits, mantissa_bits, static_cast<int>(all / 2));
    if ((bits & ((1ULL << mantissa_bits) - 1)) != 0) return std::nan("");
    return (bits >> (mantissa_bits + exponent_bits) & 1U) != 0 ? -INFINITY : INFINITY;
}

/// The value of any float kind except the complex ones. Of float4_e2m1fn_x2, `bits` is one number.
inline double float_value(DType dtype, std::uint64_t bits) {
    switch (dtype) {
        case DType::float64:
            return ieee_float(bits, 11, 52);
        case DType::float32:
            return ieee_float(bits, 8, 23);
        case DType::float16:
            return ieee_float(bits, 5, 10);
        case DType::bfloat16:
            return ieee_float(bits, 8, 7);
        case DType::float8_e5m2:
            return ieee_float(bits, 5, 2);
        case DType::float8_e4m3fn:
            return (bits & 0x7fU) == 0x7fU ? std::nan("") : small_float(bits, 4, 3, 7);
        case DType::float8_e4m3fnuz:
            return bits == 0x80U ? std::nan("") : small_float(bits, 4, 3, 8);
        case DType::float8_e5m2fnuz:
            return bits == 0x80U ? std::nan("") : small_float(bits, 5, 2, 16);
        case DType::float4_e2m1fn_x2:
            return small_float(bits, 2, 1, 1);
        default:
            return bits == 0xffU ? std::nan("") : std::ldexp(1.0, static_cast<int>(bits) - 127);
    }
}

inline Int128 integer_value(DType dtype, std::uint64_t bits) {
    switch (dtype) {
        case DType::int8:
            return static_cast<std::int8_t>(bits);
        case DType::int16:
            return static_cast<std::int16_t>(bits);
        case DType::int32:
            return static_cast<std::int32_t>(bits);
        case DType::int64:
            return static_cast<std::int64_t>(bits);
        case DType::boolean:
            return bits != 0 ? 1 : 0;
        default:
            return bits;
    }
}

// ---- tensors

struct Sample {
    DType dtype = DType::float32;
    std::vector<std::int64_t> sizes;
    std::vector<std::int64_t> strides;
    std::vector<unsigned char> storage;
    std::uint64_t first = 0;  // element of the storage
    MathBits bits;

    [[nodiscard]] TensorView view(const void* base) const {
        return {static_cast<const unsigned char*>(base) + first * element_size(dtype), dtype, sizes, strides,
                bits};
    }
    [[nodiscard]] TensorView view() const { return view(storage.data()); }

    /// The offsets of the elements, in logical order, from element 0.
    [[nodiscard]] std::vector<std::int64_t> offsets() const {
        std::vector<std::int64_t> all{0};
        for (std::size_t d = 0; d < sizes.size(); ++d) {
            std::vector<std::int64_t> next;
            for (const std::int64_t offset : all)
                for (std::int64_t i = 0; i < sizes[d]; ++i)
                    next.push_back(offset + i * strides[d]);
            all = std::move(next);
        }
        return all;
    }

    [[nodiscard]] unsigned char* element(std::int64_t offset) {
        return storage.data() + (first + static_cast<std::uint64_t>(offset)) * element_size(dtype);
    }
    [[nodiscard]] const unsigned char* element(std::int64_t offset) const {
        return storage.data() + (first + static_cast<std::uint64_t>(offset)) * element_size(dtype);
    }

    [[nodiscard]] std::string name() const {
        std::string text = dtype_name(dtype);
        for (std::size_t d = 0; d < sizes.size(); ++d)
            text += (d == 0 ? " " : ",") + std::to_string(sizes[d]) + "@" + std::to_string(strides[d]);
        if (bits.conjugate) text += " conjugate";
        if (bits.negative) text += " negative";
        return text;
    }
};

enum class Shape { contiguous, permuted, expanded, gaps, overlapping, empty, single, many };
inline constexpr int kShapes = static_cast<int>(Shape::many);
enum class Content { ordinary, offset, any_bits, specials, constant, tiny, huge, not_finite, many };
inline constexpr int kContents = static_cast<int>(Content::many);

inline std::vector<std::int64_t> contiguous_strides(const std::vector<std::int64_t>& sizes) {
    std::vector<std::int64_t> strides(sizes.size());
    std::int64_t stride = 1;
    for (std::size_t d = sizes.size(); d-- > 0;) {
        strides[d] = stride;
        stride *= std::max<std::int64_t>(sizes[d], 1);
    }
    return strides;
}

/// Sizes and strides, with at most about `largest` elements.
inline void make_layout(Sample& sample, Shape shape, std::uint64_t largest, Engine& random) {
    const std::uint64_t rank = shape == Shape::contiguous ? below(random, 4) : below(random, 12) + 1;
    std::uint64_t left = largest;
    sample.sizes.clear();
    for (std::uint64_t d = 0; d < rank; ++d) {
        const std::uint64_t bound =
            d + 1 == rank ? left : std::min<std::uint64_t>(left, 1 + below(random, 9));
        const std::uint64_t size = shape == Shape::single ? 1 : 1 + below(random, bound);
        sample.sizes.push_back(static_cast<std::int64_t>(size));
        left = std::max<std::uint64_t>(left / size, 1);
    }
    if (shape == Shape::empty) sample.sizes[below(random, rank)] = 0;
    sample.strides = contiguous_strides(sample.sizes);
    if (shape == Shape::permuted) {
        std::vector<std::size_t> order(rank);
        for (std::size_t d = 0; d < rank; ++d)
            order[d] = d;
        std::shuffle(order.begin(), order.end(), random);
        std::vector<std::int64_t> permuted;
        for (const std::size_t d : order)
            permuted.push_back(sample.sizes[d]);
        const std::vector<std::int64_t> strides = contiguous_strides(permuted);
        for (std::size_t d = 0; d < rank; ++d)
            sample.strides[order[d]] = strides[d];
    }
    for (std::size_t d = 0; d < sample.sizes.size(); ++d) {
        if (shape == Shape::expanded && below(random, 2) == 0) sample.strides[d] = 0;
        if (shape == Shape::gaps && below(random, 2) == 0) sample.strides[d] *= 2;
        if (shape == Shape::overlapping) sample.strides[d] = static_cast<std::int64_t>(below(random, 4));
        if (sample.sizes[d] == 1 && below(random, 2) == 0)
            sample.strides[d] = 77;  // the stride is never used
    }
    if (shape == Shape::gaps)  // outer strides cover the inner dimensions, with some gaps
        for (std::size_t d = rank - 1; d-- > 0;)
            sample.strides[d] =
                std::max(sample.strides[d + 1] * sample.sizes[d + 1], static_cast<std::int64_t>(1)) +
                static_cast<std::int64_t>(below(random, 3));
}

template <typename T>
void store(unsigned char* to, T value) {
    std::memcpy(to, &value, sizeof(value));
}

/// Stores the float kind's bits nearest to `value`, by a search of all values if there are few.
inline void store_float(DType dtype, unsigned char* to, double value) {
    switch (dtype) {
        case DType::float64:
            return store(to, value);
        case DType::float32:
            return store(to, static_cast<float>(value));
        case DType::bfloat16:
            return store(to, static_cast<std::uint16_t>(
                                 std::bit_cast<std::uint32_t>(static_cast<float>(value)) >> 16U));
        default:
            break;
    }
    const bool is_pair = dtype == DType::float4_e2m1fn_x2;
    const std::uint32_t bits = is_pair ? 4 : 8 * element_size(dtype);
    const int mantissa = dtype == DType::float16 ? 10 : (dtype == DType::float8_e8m0fnu ? 0 : 2);
    // The values grow with the bits, so this bisects.
    std::uint64_t low = 0;
    std::uint64_t high = dtype == DType::float8_e8m0fnu ? 0xfe : (1ULL << (bits - 1)) - 1;
    while (dtype != DType::float8_e8m0fnu && !std::isfinite(float_value(dtype, high)))
        --high;
    while (low < high) {
        const std::uint64_t middle = (low + high + 1) / 2;
        if (float_value(dtype, middle) <= std::fabs(value))
            low = middle;
        else
            high = middle - 1;
    }
    if (value < 0 && mantissa > 0) low |= 1ULL << (bits - 1);
    if (is_pair) low |= low << 4U;
    std::memcpy(to, &low, element_size(dtype));
}

/// Bits of values at the edges of the formats.
inline constexpr std::uint64_t kSpecials[] = {0,
                                              1,
                                              2,
                                              0x7f,
                                              0x80,
                                              0x7c,
                                              0xfc,
                                              0xff,
                                              0x78,
                                              0xf8,
                                              0x7bff,
                                              0xfbff,
                                              0x7c00,
                                              0xfc00,
                                              0x7e00,
                                              0x8000,
                                              0x8001,
                                              0x7f80,
                                              0xff80,
                                              0x7fc0,
                                              0x7f7f,
                                              0x7f800000,
                                              0xff800000,
                                              0x7fc00000,
                                              0x80000000,
                                              0x00800000,
                                              0x7f7fffff,
                                              0x7ff0000000000000,
                                              0xfff0000000000000,
                                              0x7ff8000000000000,
                                              0x8000000000000000,
                                              0x3ff0000000000000};

inline void fill_float(DType dtype, unsigned char* to, Content content, double constant, Engine& random) {
    std::normal_distribution<double> normal;
    const std::uint64_t bits = random();
    const std::uint32_t bytes = element_size(dtype);
    switch (content) {
        case Content::ordinary:
            return store_float(dtype, to, normal(random));
        case Content::offset:
            return store_float(dtype, to, 1e4 + normal(random));
        case Content::constant:
            return store_float(dtype, to, constant);
        case Content::tiny:
            return store_float(dtype, to, normal(random) * 1e-30);
        case Content::huge:
            return store_float(dtype, to, normal(random) * 1e37);
        case Content::specials: {
            const std::uint64_t chosen = kSpecials[bits % std::size(kSpecials)];
            std::memcpy(to, &chosen, bytes);
            return;
        }
        case Content::not_finite: {
            const double values[] = {std::nan(""), INFINITY, -INFINITY};
            if (dtype == DType::float64) return store(to, values[bits % 3]);
            if (dtype == DType::float32) return store(to, static_cast<float>(values[bits % 3]));
            const std::uint16_t halves[] = {0x7e00, 0x7c00, 0xfc00};
            if (dtype == DType::float16) return store(to, halves[bits % 3]);
            [[fallthrough]];
        }
        default:
            std::memcpy(to, &bits, bytes);
            return;
    }
}

inline void fill_integer(DType dtype, unsigned char* to, Content content, std::uint64_t constant,
                         Engine& random) {
    const std::uint32_t bytes = element_size(dtype);
    std::uint64_t bits = random();
    const std::uint64_t top = 1ULL << (8 * bytes - 1);
    const std::uint64_t pool[] = {0, 1, ~0ULL, top, top - 1, top + 1, 2, ~1ULL};
    if (content == Content::ordinary) bits = bits % 7 - 3;
    if (content == Content::offset) bits = top - 100 + bits % 7;
    if (content == Content::constant) bits = constant;
    if (content == Content::specials) bits = pool[bits % 8];
    if (content == Content::tiny) bits %= 2;
    std::memcpy(to, &bits, bytes);
}

inline void fill(Sample& sample, Content content, Engine& random) {
    const DType part = part_dtype(sample.dtype);
    const std::uint32_t bytes = element_size(part);
    const double constant = below(random, 3) == 0 ? 0.0 : static_cast<double>(below(random, 100)) - 50;
    const std::uint64_t bits = random();
    for (std::size_t at = 0; at + bytes <= sample.storage.size(); at += bytes) {
        if (is_integer(part))
            fill_integer(part, sample.storage.data() + at, content, bits, random);
        else
            fill_float(part, sample.storage.data() + at, content, constant, random);
    }
}

inline Sample make_sample(DType dtype, Shape shape, Content content, std::uint64_t largest, Engine& random) {
    Sample sample;
    sample.dtype = dtype;
    make_layout(sample, shape, largest, random);
    std::int64_t extent = 1;
    for (std::size_t d = 0; d < sample.sizes.size(); ++d)
        extent += std::max<std::int64_t>(sample.sizes[d] - 1, 0) * sample.strides[d];
    sample.first = below(random, 3) == 0 ? below(random, 20) : 0;  // any alignment that the dtype allows
    sample.storage.resize((static_cast<std::size_t>(extent) + sample.first) * element_size(dtype));
    fill(sample, content, random);
    const std::uint64_t choice = below(random, 12);  // usually none
    const MathBits bits{choice % 2 != 0 && is_complex(dtype), choice % 4 > 1};
    if (choice < 4 && can_apply(bits, dtype)) sample.bits = bits;
    return sample;
}

/// The same elements in another layout, with other bytes in between.
inline Sample laid_out_anew(const Sample& from, Engine& random) {
    Sample sample = from;
    std::vector<std::size_t> order(from.sizes.size());
    for (std::size_t d = 0; d < order.size(); ++d)
        order[d] = d;
    std::shuffle(order.begin(), order.end(), random);
    std::int64_t stride = 1 + static_cast<std::int64_t>(below(random, 2));
    for (const std::size_t d : order) {
        sample.strides[d] = stride;
        stride *= std::max<std::int64_t>(from.sizes[d], 1);
        stride += static_cast<std::int64_t>(below(random, 2));
    }
    sample.first = below(random, 7);
    sample.storage.resize((static_cast<std::size_t>(stride) + sample.first) * element_size(from.dtype));
    fill(sample, Content::any_bits, random);
    const std::vector<std::int64_t> offsets = sample.offsets();
    const std::vector<std::int64_t> old = from.offsets();
    for (std::size_t i = 0; i < offsets.size(); ++i)
        std::memcpy(sample.element(offsets[i]), from.element(old[i]), element_size(from.dtype));
    return sample;
}

/// The 256 elements of a dtype of one byte, in the order of their bits.
inline Sample all_bytes(DType dtype) {
    Sample sample;
    sample.dtype = dtype;
    sample.sizes = {256};
    sample.strides = {1};
    for (unsigned bits = 0; bits < 256; ++bits)
        sample.storage.push_back(static_cast<unsigned char>(bits));
    return sample;
}

inline constexpr DType kByteFloats[] = {DType::float8_e4m3fn,   DType::float8_e5m2,
                                        DType::float8_e4m3fnuz, DType::float8_e5m2fnuz,
                                        DType::float8_e8m0fnu,  DType::float4_e2m1fn_x2};

/// all_bytes() in each place and layout that the code treats differently.
inline std::vector<Sample> all_bytes_laid_out(DType dtype, Engine& random) {
    std::vector<Sample> samples{all_bytes(dtype)};
    Sample unaligned = samples[0];
    unaligned.first = 1;
    unaligned.storage.insert(unaligned.storage.begin(), 0);
    samples.push_back(unaligned);
    Sample transposed = samples[0];
    transposed.sizes = {16, 16};
    transposed.strides = {1, 16};
    samples.push_back(transposed);
    samples.push_back(laid_out_anew(samples[0], random));
    Sample part = samples[0];  // the end is no whole group
    part.sizes = {253};
    samples.push_back(part);
    return samples;
}

}  // namespace stats_fixture
