// Random contents of tensors: what they keep of the contents that they replace, and what they must not.
#include "cli/bundle/random_contents.hpp"

#include <cmath>
#include <cstring>
#include <limits>

#include "serializer/element_value.hpp"
#include "stats_kernels/cpu_statistics.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/pt_cases.hpp"

namespace aoti_dbg::cli::random_contents_test {
namespace {

using test::PtCase;

PtView view_of(const PtCase& saved) {
    PtView view;
    view.dtype = saved.dtype;
    view.sizes = saved.sizes;
    view.strides = saved.strides;
    view.storage_offset = saved.offset;
    view.storage = saved.storage;
    return view;
}

template <typename Number>
PtCase contiguous(DType dtype, const std::vector<Number>& numbers) {
    PtCase saved{"contiguous", dtype, {static_cast<std::int64_t>(numbers.size())}, {1}, 0, {}};
    saved.storage.resize(numbers.size() * sizeof(Number));
    std::memcpy(saved.storage.data(), numbers.data(), saved.storage.size());
    return saved;
}

TensorStatistics measured(const PtCase& saved, const std::vector<std::byte>& storage) {
    const std::byte* const data =
        storage.data() + static_cast<std::size_t>(saved.offset) * element_size(saved.dtype);
    return measure({data, saved.dtype, saved.sizes, saved.strides}, Requested::printed);
}

bool is_within(const RealStatistics& inner, const RealStatistics& outer) {
    if (inner.finite.count == 0) return true;
    return inner.finite.minimum.as_double() >= outer.finite.minimum.as_double() &&
           inner.finite.maximum.as_double() <= outer.finite.maximum.as_double();
}

TEST_CASE("Every dtype in every layout keeps its bounds, NaN and Inf") {
    for (const PtCase& saved : test::pt_cases()) {
        CAPTURE(saved.name, dtype_name(saved.dtype));
        const std::vector<std::byte> storage = random_contents(view_of(saved), 7);
        REQUIRE(storage.size() == saved.storage.size());
        CHECK(storage == random_contents(view_of(saved), 7));
        // The statistics of a tensor with equal elements count them all, which takes too long.
        if (element_count(saved.sizes) > 1000000 || element_count(saved.sizes) == 0) continue;
        const TensorStatistics before = measured(saved, saved.storage);
        const TensorStatistics after = measured(saved, storage);
        CHECK(is_within(after.real, before.real));
        CHECK(is_within(after.imaginary, before.imaginary));
        const bool overlaps = saved.name.find("overlapping") != std::string::npos;
        if (overlaps) continue;
        CHECK(after.real.nan == before.real.nan);
        CHECK(after.real.positive_infinity == before.real.positive_infinity);
        CHECK(after.real.negative_infinity == before.real.negative_infinity);
        CHECK(after.imaginary.nan == before.imaginary.nan);
        if (saved.dtype == DType::boolean) CHECK(after.real.zeros == before.real.zeros);
    }
}

TEST_CASE("Bytes outside of the tensor become zeros") {
    PtCase saved = contiguous<std::int32_t>(DType::int32, std::vector<std::int32_t>(64, 0x7b7b7b7b));
    saved.sizes = {4, 4};
    saved.strides = {8, 1};
    saved.offset = 8;
    const std::vector<std::byte> storage = random_contents(view_of(saved), 1);
    for (std::size_t i = 0; i < 64; ++i) {
        const bool is_element = i >= 8 && i < 40 && i % 8 < 4;
        std::int32_t number = 0;
        std::memcpy(&number, storage.data() + 4 * i, 4);
        CAPTURE(i);
        CHECK(number == (is_element ? 0x7b7b7b7b : 0));
    }
}

TEST_CASE("Floats keep their mean and deviation") {
    Random random;
    std::vector<float> numbers;
    for (int i = 0; i < 20000; ++i)
        numbers.push_back(5 + 0.001F * static_cast<float>(random.below(2000)));
    numbers[17] = std::numeric_limits<float>::quiet_NaN();
    numbers[18] = -std::numeric_limits<float>::infinity();
    const PtCase saved = contiguous(DType::float32, numbers);
    const std::vector<std::byte> storage = random_contents(view_of(saved), 3);
    const TensorStatistics before = measured(saved, saved.storage);
    const TensorStatistics after = measured(saved, storage);
    CHECK(after.real.finite.count == before.real.finite.count);
    CHECK(std::abs(after.real.finite.mean - before.real.finite.mean) < 0.02);
    CHECK(std::abs(after.real.finite.standard_deviation - before.real.finite.standard_deviation) < 0.05);
    std::size_t equal = 0;
    for (std::size_t i = 0; i < numbers.size(); ++i)
        equal += std::memcmp(storage.data() + 4 * i, &numbers[i], 4) == 0 ? 1 : 0;
    CHECK(equal < 40);
}

TEST_CASE("Half floats of all sizes keep their mean") {
    // 0x0001 to 0x7bff: denormal and normal numbers.
    std::vector<std::uint16_t> numbers;
    for (std::uint32_t bits = 1; bits < 0x7c00; ++bits)
        numbers.push_back(static_cast<std::uint16_t>(bits));
    for (const DType dtype : {DType::float16, DType::bfloat16}) {
        const PtCase saved = contiguous(dtype, numbers);
        const std::vector<std::byte> storage = random_contents(view_of(saved), 3);
        CHECK(is_within(measured(saved, storage).real, measured(saved, saved.storage).real));
    }
    const PtCase small = contiguous<std::uint16_t>(DType::float16, {0x0001, 0x0002, 0x03ff, 0x0400});
    for (std::uint64_t seed = 0; seed < 50; ++seed)
        CHECK(is_within(measured(small, random_contents(view_of(small), seed)).real,
                        measured(small, small.storage).real));
}

TEST_CASE("Integers use all numbers within the bounds of the tensor") {
    const std::vector<std::int64_t> indices = {3, 3, 3, 90, 3, 3, 3, 3};
    const PtCase saved = contiguous(DType::int64, indices);
    bool is_new = false;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        const std::vector<std::byte> storage = random_contents(view_of(saved), seed);
        for (std::size_t i = 0; i < indices.size(); ++i) {
            std::int64_t index = 0;
            std::memcpy(&index, storage.data() + 8 * i, 8);
            CHECK(index >= 3);
            CHECK(index <= 90);
            is_new = is_new || (index > 3 && index < 90);
        }
    }
    CHECK(is_new);
    const PtCase wide = contiguous<std::int64_t>(DType::int64, {INT64_MIN, INT64_MAX, 0, 1});
    CHECK(random_contents(view_of(wide), 1) != wide.storage);
    const PtCase signed_bytes = contiguous<std::int8_t>(DType::int8, {-128, -3, -128, -5});
    const TensorStatistics found = measured(signed_bytes, random_contents(view_of(signed_bytes), 1));
    CHECK(found.real.all.maximum.signed_integer <= -3);
}

TEST_CASE("Bools keep the number of ones") {
    std::vector<std::uint8_t> bools(1000, 0);
    for (std::size_t i = 0; i < 130; ++i)
        bools[i] = 1;
    const PtCase saved = contiguous(DType::boolean, bools);
    const std::vector<std::byte> storage = random_contents(view_of(saved), 1);
    std::size_t ones = 0;
    for (const std::byte value : storage) {
        CHECK(value <= std::byte{1});
        ones += value == std::byte{1} ? 1 : 0;
    }
    CHECK(ones == 130);
    CHECK(storage != saved.storage);
}

}  // namespace
}  // namespace aoti_dbg::cli::random_contents_test
