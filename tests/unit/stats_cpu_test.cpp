// The CPU implementation compared with a naive reference, over dtypes, layouts, contents and splits. The
// seeds are fixed; a failure prints the measured tensor.
#include <algorithm>
#include <cfenv>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "stats_kernels/cpu_blocks.hpp"
#include "stats_kernels/cpu_statistics.hpp"
#include "tests/support/catch.hpp"
#include "tests/unit/stats_judge.hpp"

namespace aoti_dbg::stats_cpu_test {

using namespace stats_fixture;

namespace {

constexpr double kTolerance = 1e-11;
const std::string kNothing;  // differs

std::vector<const BlockKernels*> all_kernels() {
    std::vector<const BlockKernels*> kernels{baseline_block_kernels()};
    if (x86_64_v3_block_kernels() != nullptr) kernels.push_back(x86_64_v3_block_kernels());
    return kernels;
}

/// Measures random ranges and merges them in random order and grouping.
TensorStatistics measure_in_pieces(const Sample& sample, Requested requested, Engine& random) {
    const std::uint64_t count = element_count(sample.sizes);
    std::vector<std::uint64_t> borders{0, count};
    for (std::uint64_t i = below(random, 6); i > 0; --i)
        borders.push_back(below(random, count + 1) / kRangeGrain * kRangeGrain);
    std::sort(borders.begin(), borders.end());
    const std::vector<const BlockKernels*> kernels = all_kernels();
    std::vector<TensorPartial> pieces;
    for (std::size_t i = 0; i + 1 < borders.size(); ++i)
        pieces.push_back(measure_range(sample.view(), requested, borders[i], borders[i + 1],
                                       *kernels[below(random, kernels.size())]));
    while (pieces.size() > 1) {
        std::swap(pieces[below(random, pieces.size())], pieces.back());
        const TensorPartial last = pieces.back();
        pieces.pop_back();
        merge(pieces[below(random, pieces.size())], last);
    }
    return finish(pieces.front(), sample.view(), requested);
}

Sample floats(const std::vector<float>& values) {
    Sample sample;
    sample.sizes = {static_cast<std::int64_t>(values.size())};
    sample.strides = {1};
    sample.storage.resize(values.size() * 4);
    if (!values.empty()) std::memcpy(sample.storage.data(), values.data(), sample.storage.size());
    return sample;
}

std::uint64_t hash_of(const Sample& sample) {
    return measure(sample.view(), Requested::hash).hash;
}

}  // namespace

TEST_CASE("A tensor with PyTorch's conjugate or negative bit has statistics and hash of the resolved one") {
    const MathBits all[] = {{true, false}, {false, true}, {true, true}};
    Engine random(14);
    for (const DType dtype : {DType::complex32, DType::complex64, DType::complex128, DType::float64,
                              DType::float32, DType::float16, DType::bfloat16}) {
        for (const MathBits bits : all) {
            if (bits.conjugate && !is_complex(dtype)) continue;
            for (const Shape shape : {Shape::contiguous, Shape::permuted, Shape::gaps, Shape::expanded}) {
                Sample sample = make_sample(dtype, shape, Content::ordinary, 2000, random);
                Sample resolved = laid_out_anew(sample, random);
                sample.bits = bits;
                resolved.bits = {};
                const std::uint32_t width = element_size(part_dtype(dtype));
                for (const std::int64_t offset : resolved.offsets()) {
                    unsigned char* const element = resolved.element(offset);
                    if (bits.negative) element[width - 1] ^= 0x80U;
                    if (is_complex(dtype) && bits.negative != bits.conjugate) element[2 * width - 1] ^= 0x80U;
                }
                CAPTURE(sample.name());
                CHECK(difference(measure(sample.view(), kEverything), resolved, kEverything, kTolerance) ==
                      "");
                CHECK(hash_of(sample) == hash_of(resolved));
            }
        }
    }
}

TEST_CASE("A tensor without elements has no statistics") {
    Sample sample = floats({});
    const TensorStatistics statistics = measure(sample.view(), kEverything);
    CHECK(statistics.count == 0);
    CHECK(std::isnan(statistics.real.all.mean));
    CHECK(std::isnan(statistics.real.all.minimum.floating));
    CHECK(std::isnan(statistics.real.all.standard_deviation));
    CHECK(statistics.real.minimum_index == kNoIndex);
    sample.dtype = DType::int32;
    const TensorStatistics integers = measure(sample.view(), kEverything);
    CHECK(integers.real.all.minimum.signed_integer == 0);
    CHECK(std::isnan(integers.real.all.mean));
    CHECK(integers.hash != statistics.hash);
}

TEST_CASE("One element has no standard deviation") {
    const TensorStatistics statistics = measure(floats({3.5F}).view(), kEverything);
    CHECK(statistics.real.all.mean == 3.5);
    CHECK(std::isnan(statistics.real.all.standard_deviation));
    CHECK(statistics.real.maximum_index == 0);
}

TEST_CASE("The standard deviation is that of torch.std") {
    const TensorStatistics statistics = measure(floats({1, 2, 3, 4}).view(), Requested::printed);
    CHECK(near(statistics.real.all.standard_deviation, 1.2909944487358056L, 1e-14L));
}

TEST_CASE("The first of equal extremes counts, and zeros of both signs are equal") {
    const TensorStatistics statistics =
        measure(floats({5, 0.0F, -0.0F, 0.0F, 5, 1}).view(), Requested::indices);
    CHECK(statistics.real.minimum_index == 1);
    CHECK(statistics.real.maximum_index == 0);
    CHECK(statistics.real.zeros == 3);
    CHECK_FALSE(std::signbit(measure(floats({-0.0F}).view(), Requested::printed).real.all.minimum.floating));
}

TEST_CASE("The first NaN is the place of minimum and maximum, as in torch") {
    const TensorStatistics statistics =
        measure(floats({1, INFINITY, NAN, -INFINITY, NAN}).view(), Requested::indices);
    CHECK(statistics.real.minimum_index == 2);
    CHECK(statistics.real.maximum_index == 2);
    CHECK(statistics.real.first_nonfinite == 1);
    CHECK(statistics.real.finite.maximum.floating == 1);
    const TensorStatistics infinite = measure(floats({1, INFINITY, -INFINITY}).view(), Requested::indices);
    CHECK(infinite.real.minimum_index == 2);
    CHECK(infinite.real.maximum_index == 1);
}

TEST_CASE("Every dtype, layout and content agrees with the naive reference, whole and in pieces") {
    Engine random(1);
    for (std::uint32_t number = 0; number < kDTypes; ++number)
        for (int shape = 0; shape < kShapes; ++shape)
            for (int content = 0; content < kContents; ++content) {
                const std::uint64_t largest = below(random, 4) == 0 ? 5000 : 300;
                const Sample sample = make_sample(static_cast<DType>(number), static_cast<Shape>(shape),
                                                  static_cast<Content>(content), largest, random);
                INFO(sample.name() << ", content " << content);
                for (const Requested requested : kRequests) {
                    REQUIRE(difference(measure(sample.view(), requested), sample, requested, kTolerance) ==
                            kNothing);
                    const TensorStatistics pieces = measure_in_pieces(sample, requested, random);
                    REQUIRE(difference(pieces, sample, requested, kTolerance) == kNothing);
                    if (wants(requested, Requested::hash)) REQUIRE(pieces.hash == hash_of(sample));
                }
            }
}

TEST_CASE("Ranges cover a tensor and start at a multiple of the grain") {
    for (const std::uint64_t count : {0ULL, 1ULL, 15ULL, 16ULL, 17ULL, 1000ULL, 1ULL << 62U})
        for (const std::uint32_t parts : {1U, 2U, 7U, 64U}) {
            CHECK(range_begin(count, 0, parts) == 0);
            CHECK(range_begin(count, parts, parts) == count);
            for (std::uint32_t part = 0; part < parts; ++part) {
                CHECK(range_begin(count, part, parts) <= range_begin(count, part + 1, parts));
                CHECK(range_begin(count, part, parts) % kRangeGrain == 0);
            }
        }
}

TEST_CASE("The sum of the largest integers is exact in 128 bits") {
    Sample sample;
    sample.dtype = DType::uint64;
    sample.sizes = {1000};
    sample.strides = {1};
    sample.storage.assign(8000, 0xff);
    const RealStatistics most = measure(sample.view(), Requested::printed).real;
    CHECK(most.sum_high == 999);
    CHECK(most.sum_low == static_cast<std::uint64_t>(-1000));
    CHECK(most.all.minimum.unsigned_integer == UINT64_MAX);
    CHECK(most.all.standard_deviation == 0);
    sample.dtype = DType::int64;
    CHECK(measure(sample.view(), Requested::printed).real.sum_high == -1);
}

TEST_CASE("Integers beyond 2^53 keep their last bit") {
    Sample sample;
    sample.dtype = DType::int64;
    sample.sizes = {2};
    sample.strides = {1};
    sample.storage.resize(16);
    store<std::int64_t>(sample.storage.data(), (1LL << 62) + 1);
    store<std::int64_t>(sample.storage.data() + 8, (1LL << 62) + 3);
    const RealStatistics real = measure(sample.view(), Requested::printed).real;
    CHECK(real.all.minimum.signed_integer == (1LL << 62) + 1);
    CHECK(real.all.maximum.signed_integer == (1LL << 62) + 3);
    CHECK(near(real.all.standard_deviation, std::sqrt(2.0L), 1e-14L));
}

TEST_CASE("A large offset costs mean and standard deviation no digits, whatever the split") {
    Engine random(7);
    std::normal_distribution<double> normal;
    std::vector<float> values(1U << 20U);
    for (float& value : values)
        value = static_cast<float>(1e4 + normal(random));
    const Sample sample = floats(values);
    for (int round = 0; round < 4; ++round)
        CHECK(difference(measure_in_pieces(sample, Requested::printed, random), sample, Requested::printed,
                         1e-12) == kNothing);
}

TEST_CASE("A hash is the same in every layout and another after any change") {
    Engine random(3);
    for (std::uint32_t number = 0; number < kDTypes; ++number)
        for (int round = 0; round < 12; ++round) {
            const Sample sample =
                make_sample(static_cast<DType>(number), Shape::contiguous,
                            round % 2 == 0 ? Content::any_bits : Content::constant, 700, random);
            INFO(sample.name());
            const std::uint64_t hash = hash_of(sample);
            REQUIRE(hash_of(laid_out_anew(sample, random)) == hash);

            Sample changed = sample;
            const std::vector<std::int64_t> offsets = sample.offsets();
            const std::uint32_t bytes = element_size(sample.dtype);
            changed.element(offsets[below(random, offsets.size())])[below(random, bytes)] ^=
                static_cast<unsigned char>(1U << below(random, 8));
            REQUIRE(hash_of(changed) != hash);

            Sample swapped = sample;
            unsigned char* a = swapped.element(offsets[below(random, offsets.size())]);
            unsigned char* b = swapped.element(offsets[below(random, offsets.size())]);
            const bool differ = std::memcmp(a, b, bytes) != 0;
            std::swap_ranges(a, a + bytes, b);
            REQUIRE((hash_of(swapped) != hash) == differ);

            Sample reshaped = sample;
            reshaped.sizes.push_back(1);
            reshaped.strides.push_back(1);
            REQUIRE(hash_of(reshaped) != hash);
        }
}

TEST_CASE("The hash depends on the dtype and sizes of the tensor") {
    Sample sample = floats({1, 2, 3, 4, 5, 6});
    sample.sizes = {2, 3};
    sample.strides = {3, 1};
    const std::uint64_t hash = hash_of(sample);
    sample.sizes = {3, 2};
    sample.strides = {2, 1};
    CHECK(hash_of(sample) != hash);
    sample.sizes = {2, 3};
    sample.strides = {3, 1};
    sample.dtype = DType::int32;
    CHECK(hash_of(sample) != hash);
    CHECK(hash_of(floats({0.0F})) != hash_of(floats({-0.0F})));
    CHECK(hash_of(floats({0, 0, 0})) != hash_of(floats({0, 0, 0, 0})));
}

TEST_CASE("Hashes of recorded tensors do not change") {
    CHECK(hash_of(floats({})) == 0x7ea19758f79f0b87U);
    CHECK(hash_of(floats({1, 2, 3, 4, 5})) == 0x7ae62a670d03658bU);
}

TEST_CASE("Hashes of similar small tensors do not collide") {
    std::vector<std::uint64_t> hashes;
    for (int a = 0; a < 64; ++a)
        for (int b = 0; b < 64; ++b) {
            hashes.push_back(hash_of(floats({static_cast<float>(a), 0, 0, 0, static_cast<float>(b)})));
            if (b > 0)
                hashes.push_back(hash_of(
                    floats(std::vector<float>(static_cast<std::size_t>(b) * 4, static_cast<float>(a)))));
        }
    std::sort(hashes.begin(), hashes.end());
    CHECK(std::adjacent_find(hashes.begin(), hashes.end()) == hashes.end());
}

TEST_CASE("The caller's floating-point mode and flags stay as they were") {
    const Sample sample = floats({1e-40F, 3e38F, -3e38F, NAN, 0.1F});
    std::feclearexcept(FE_ALL_EXCEPT);
    const TensorStatistics measured = measure(sample.view(), kEverything);
    CHECK(std::fetestexcept(FE_ALL_EXCEPT) == 0);
    CHECK(difference(measured, sample, kEverything, kTolerance) == kNothing);
#if defined(__x86_64__)
    const unsigned kept = _mm_getcsr();
    _mm_setcsr(kept | 0x8040U);  // flushes denormals to zero, as torch.set_flush_denormal does
    const TensorStatistics statistics = measure(floats({1e-40F, 2e-40F}).view(), kEverything);
    CHECK(_mm_getcsr() == (kept | 0x8040U));
    _mm_setcsr(kept);
    CHECK(statistics.real.zeros == 0);
    CHECK(statistics.real.all.maximum.floating == static_cast<double>(2e-40F));
#endif
}

TEST_CASE("All compiled variants of the loops agree on every float16") {
    Sample sample;
    sample.dtype = DType::float16;
    sample.sizes = {65536};
    sample.strides = {1};
    sample.storage.resize(131072);
    for (std::uint32_t bits = 0; bits < 65536; ++bits)
        store(sample.storage.data() + std::size_t{bits} * 2, static_cast<std::uint16_t>(bits));
    for (const BlockKernels* kernels : all_kernels()) {
        INFO(kernels->name);
        const TensorPartial partial = measure_range(sample.view(), kEverything, 0, 65536, *kernels);
        CHECK(difference(finish(partial, sample.view(), kEverything), sample, kEverything, kTolerance) ==
              kNothing);
    }
}

TEST_CASE("All compiled variants of the loops agree on every byte of the float8 and float4 kinds") {
    Engine random(4);
    for (const DType dtype : kByteFloats)
        for (const Sample& sample : all_bytes_laid_out(dtype, random))
            for (const BlockKernels* kernels : all_kernels())
                for (const Requested requested : kRequests) {
                    INFO(sample.name() << ", " << kernels->name);
                    const std::uint64_t count = element_count(sample.sizes);
                    const TensorPartial partial = measure_range(sample.view(), requested, 0, count, *kernels);
                    CHECK(difference(finish(partial, sample.view(), requested), sample, requested,
                                     kTolerance) == kNothing);
                }
}

TEST_CASE("The powers of two of float8_e8m0fnu have neither zero nor sign, and one NaN") {
    const RealStatistics real = measure(all_bytes(DType::float8_e8m0fnu).view(), kEverything).real;
    CHECK(real.nan == 1);
    CHECK(real.first_nan == 255);
    CHECK(real.zeros == 0);
    CHECK(real.positive_infinity + real.negative_infinity == 0);
    CHECK(real.finite.count == 255);
    CHECK(real.finite.minimum.floating == 0x1p-127);
    CHECK(real.finite.maximum.floating == 0x1p127);
}

TEST_CASE(
    "Statistics of float4_e2m1fn_x2 are over both numbers of its elements, and indices count elements") {
    const TensorStatistics statistics = measure(all_bytes(DType::float4_e2m1fn_x2).view(), kEverything);
    const RealStatistics& real = statistics.real;
    CHECK(statistics.count == 256);
    CHECK(real.all.count == 512);
    CHECK(real.zeros == 64);
    CHECK(real.all.mean == 0);
    CHECK(near(real.all.standard_deviation, std::sqrt(8.5625L * 512 / 511), 1e-14L));
    CHECK(real.all.minimum.floating == -6);
    CHECK(real.minimum_index == 15);
    CHECK(real.maximum_index == 7);

    Sample pair = all_bytes(DType::float4_e2m1fn_x2);
    pair.sizes = {2};
    pair.storage = {0x71, 0x29};  // 0.5, 6, -0.5, 1
    const RealStatistics few = measure(pair.view(), kEverything).real;
    CHECK(few.all.mean == 1.75);
    CHECK(few.maximum_index == 0);
    CHECK(few.minimum_index == 1);
    pair.sizes = {1};
    CHECK(measure(pair.view(), kEverything).real.all.standard_deviation == std::sqrt(15.125));
}

}  // namespace aoti_dbg::stats_cpu_test
