// How far two tensors are apart, and what is allowed: against naive implementations.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "compare/agreement.hpp"
#include "compare/memory.hpp"
#include "serializer/element_value.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/random.hpp"

namespace aoti_dbg::compare::tolerance_test {
namespace {

constexpr std::array kFloats = {DType::float64, DType::float32, DType::float16, DType::bfloat16,
                                DType::float8_e4m3fn};

std::vector<std::byte> random_elements(Random& random, DType dtype, std::size_t count) {
    std::vector<std::byte> elements(count * element_size(dtype));
    for (std::byte& byte : elements)
        byte = static_cast<std::byte>(random.bits() >> 40U);
    return elements;
}

struct Expected {
    std::uint64_t different = 0;
    std::uint64_t beyond = 0;
    std::uint64_t nan_in_one = 0;
    std::uint64_t first = 0;
    double largest = 0;
};

Expected expected_of(const Elements& first, const Elements& second, const Closeness& closeness) {
    Expected expected;
    const std::size_t size = element_size(first.dtype);
    const std::size_t other_size = element_size(second.dtype);
    for (std::uint64_t i = 0; i < first.bytes.size() / size; ++i) {
        const std::byte* const at = first.bytes.data() + i * size;
        const std::byte* const other_at = second.bytes.data() + i * other_size;
        const double one = element_value(first.dtype, at);
        const double other = element_value(second.dtype, other_at);
        const bool both_nan = std::isnan(one) && std::isnan(other);
        const bool is_equal =
            first.dtype == second.dtype ? std::memcmp(at, other_at, size) == 0 : one == other || both_nan;
        if (!is_equal && expected.different++ == 0) expected.first = i;
        if (both_nan || one == other) continue;
        if (std::isnan(one) || std::isnan(other)) {
            ++expected.nan_in_one;
            ++expected.beyond;
            continue;
        }
        expected.largest = std::max(expected.largest, std::abs(one - other));
        const bool is_close =
            std::isfinite(one) && std::isfinite(other) &&
            std::abs(one - other) <= closeness.absolute + closeness.relative * std::abs(other);
        expected.beyond += is_close ? 0 : 1;
    }
    return expected;
}

RecordedTensor tensor_of(std::uint64_t address, const TensorFacts& facts, const ArgumentFacts& argument) {
    RecordedTensor tensor;
    tensor.facts = &argument;
    tensor.tensor = &facts;
    tensor.address = address;
    return tensor;
}

TensorFacts facts_of(std::vector<std::int64_t> sizes, std::vector<std::int64_t> strides) {
    TensorFacts facts;
    facts.dtype = "uint8";
    facts.measured_dtype = DType::uint8;
    facts.sizes = std::move(sizes);
    facts.strides = std::move(strides);
    return facts;
}

}  // namespace

TEST_CASE("The difference of random elements is that of a naive implementation") {
    Random random(3);
    for (int round = 0; round < 3000; ++round) {
        const DType one = kFloats[random.below(kFloats.size())];
        const DType other = random.one_in(2) ? one : kFloats[random.below(kFloats.size())];
        const std::size_t count = random.one_in(50) ? 5000 : random.below(20);
        const std::vector<std::byte> first = random_elements(random, one, count);
        std::vector<std::byte> second = random_elements(random, other, count);
        if (one == other && random.one_in(2)) {
            second = first;
            if (!second.empty()) second[random.below(second.size())] ^= std::byte{1};
        }
        const Closeness closeness{random.one_in(2) ? 0.1 : 0, random.one_in(2) ? 1e-3 : 0};
        const ElementDifference found = difference_of({one, first}, {other, second}, closeness);
        const Expected expected = expected_of({one, first}, {other, second}, closeness);
        CAPTURE(round, dtype_name(one), dtype_name(other), count);
        REQUIRE(found.elements == count);
        REQUIRE(found.different == expected.different);
        REQUIRE(found.beyond == expected.beyond);
        REQUIRE(found.nan_in_one == expected.nan_in_one);
        REQUIRE(found.largest_absolute == expected.largest);
        if (expected.different != 0) REQUIRE(found.first == expected.first);
        const auto listed =
            std::accumulate(found.by_relative.begin(), found.by_relative.end(), std::uint64_t{0});
        REQUIRE(listed <= found.different);
    }
}

TEST_CASE("The histogram of relative errors has a place for each power of ten") {
    std::vector<double> first;
    std::vector<double> second;
    for (int power = -11; power <= 1; ++power) {
        second.push_back(1);
        first.push_back(1 + 2 * std::pow(10.0, power));
    }
    const ElementDifference found = difference_of({DType::float64, std::as_bytes(std::span(first))},
                                                  {DType::float64, std::as_bytes(std::span(second))});
    CHECK(found.by_relative == std::array<std::uint64_t, 11>{2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2});
    CHECK(found.largest_relative == Approx(20));
}

TEST_CASE("Equal elements are apart by nothing, and NaN in one tensor by everything") {
    const std::array<float, 3> numbers = {1, -2, 3};
    std::array<float, 3> other = numbers;
    const auto spread = [&] {
        return spread_of(difference_of({DType::float32, std::as_bytes(std::span(numbers))},
                                       {DType::float32, std::as_bytes(std::span(other))}));
    };
    CHECK(spread().is_within({}));
    other[1] = -2.02F;
    CHECK(spread().typical == Approx(0.02 / std::sqrt(1 + 2.02 * 2.02 + 9)).epsilon(1e-3));
    CHECK(spread().largest == Approx(0.02 / 3).epsilon(1e-3));
    other[1] = std::numeric_limits<float>::quiet_NaN();
    CHECK_FALSE(spread().is_within({1e9, 1e9, 1e9, 1e9, true}));
}

TEST_CASE(
    "Rounding allows more for coarser dtypes, longer sums and inputs that are apart, and nothing for "
    "integers") {
    const ArgumentFacts argument;
    TensorFacts facts = facts_of({1000}, {1});
    const RecordedTensor integers = tensor_of(0, facts, argument);
    CHECK(allowed_after({0x1p-8, 3, 100}, integers, {}).typical == 0);
    TensorFacts floats = facts;
    floats.measured_dtype = DType::float32;
    const RecordedTensor result = tensor_of(0, floats, argument);
    const Spread fine = allowed_after({0x1p-24, 1, 1}, result, {});
    CHECK(fine.typical > 0x1p-24);
    CHECK(fine.typical < 1e-6);
    CHECK(allowed_after({0x1p-8, 1, 1}, result, {}).typical > 1000 * fine.typical);
    CHECK(allowed_after({0x1p-24, 1, 10000}, result, {}).typical > 10 * fine.typical);
    Spread inputs;
    inputs.typical = 0.01;
    CHECK(allowed_after({0x1p-24, 1, 1}, result, inputs).typical > 0.01);
    // An error of 1% in many bfloat16 numbers moves their mean by more than rounding does.
    floats.sizes = {8192};
    CHECK(allowed_after({0x1p-8, 4, 1}, result, {}).shift < 0.005);
}

TEST_CASE("What differs in memory is that of a naive map of bytes") {
    Random random(5);
    constexpr std::uint64_t kBytes = 64;
    for (int round = 0; round < 300; ++round) {
        Memory memory;
        std::array<bool, kBytes> differs{};
        std::vector<std::unique_ptr<ArgumentFacts>> labels;
        std::vector<std::unique_ptr<TensorFacts>> shapes;
        for (int step = 0; step < 60; ++step) {
            const std::uint64_t begin = random.below(kBytes - 1);
            const std::uint64_t size = 1 + random.below(kBytes - begin);
            labels.push_back(std::make_unique<ArgumentFacts>());
            labels.back()->label = std::to_string(step);
            shapes.push_back(std::make_unique<TensorFacts>(facts_of({static_cast<std::int64_t>(size)}, {1})));
            const RecordedTensor tensor = tensor_of(4096 + begin, *shapes.back(), *labels.back());
            const bool any = std::any_of(differs.begin() + static_cast<std::ptrdiff_t>(begin),
                                         differs.begin() + static_cast<std::ptrdiff_t>(begin + size),
                                         [](bool one) { return one; });
            REQUIRE(memory.is_different_since(tensor, 0) == any);
            const bool is_different = random.one_in(3);
            TensorPair pair{&tensor, nullptr, {}};
            pair.compared.agreement = is_different ? Agreement::different : Agreement::equal;
            memory.record(pair, 0);
            std::fill_n(differs.begin() + static_cast<std::ptrdiff_t>(begin), size, is_different);
        }
    }
}

TEST_CASE("A write between the bytes of a difference does not remove it") {
    Memory memory;
    ArgumentFacts whole;
    ArgumentFacts column;
    whole.label = "whole";
    column.label = "column";
    const TensorFacts all = facts_of({4, 4}, {4, 1});
    const TensorFacts some = facts_of({4}, {4});
    const RecordedTensor first = tensor_of(4096, all, whole);
    const RecordedTensor second = tensor_of(4096, some, column);
    TensorPair pair{&first, nullptr, {}};
    pair.compared.agreement = Agreement::different;
    memory.record(pair, 0);
    pair = {&second, nullptr, {}};
    pair.compared.agreement = Agreement::equal;
    memory.record(pair, 1);
    CHECK(memory.is_different_since(first, 0));
}

}  // namespace aoti_dbg::compare::tolerance_test
