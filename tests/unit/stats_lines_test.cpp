// Result lines that a device leaves: they are added up completely, and never in part.
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

#include "stats_kernels/result_lines.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/random.hpp"

namespace aoti_dbg::stats_lines_test {
namespace {

constexpr std::uint32_t kSequence = 9;
constexpr Requested kPrinted = Requested::findings | Requested::printed;

using Words = std::array<std::uint64_t, kLineWords>;

Words moments(std::uint64_t finite, double mean, double m2, double minimum, double maximum,
              std::uint64_t flags = 0) {
    return {finite,
            std::bit_cast<std::uint64_t>(mean),
            std::bit_cast<std::uint64_t>(m2),
            0,
            key_of(minimum),
            key_of(maximum),
            flags};
}

Words no_moments() {
    return {0, 0, 0, 0, UINT64_MAX, 0, 0};
}

}  // namespace

TEST_CASE("Blocks are added up") {
    const ResultShape shape{3, DType::float32, kPrinted, 0};
    REQUIRE(shape.lines() == 6);
    std::vector<ResultLine> lines(shape.lines());
    // 1 2 | 3 4 5 | nothing but a NaN and an Inf
    write_line(lines[0], kSequence, moments(2, 1.5, 0.5, 1, 2));
    write_line(lines[1], kSequence, moments(3, 4, 2, 3, 5));
    Words none = no_moments();
    none[kFlags] = kHasSpecials;
    write_line(lines[2], kSequence, none);
    write_line(lines[5], kSequence, Words{1, 1, 0, 7, 5, kNoIndex});
    TensorPartial total;
    REQUIRE(gather(lines.data(), shape, kSequence, total) == Gathered::whole);
    const PartialStatistics& part = total.parts[0];
    CHECK(part.finite == 5);
    CHECK(part.mean == 3);
    CHECK(part.m2 == 10);
    CHECK(part.minimum_key == key_of(1.0));
    CHECK(part.maximum_key == key_of(5.0));
    CHECK(part.nan == 1);
    CHECK(part.positive_infinity == 1);
    CHECK(part.negative_infinity == 0);
    CHECK(part.first_nan == 7);
    CHECK(part.first_positive_infinity == 5);
}

TEST_CASE("Both parts, places and the hash exist if they are requested") {
    const ResultShape shape{2, DType::complex64, kPrinted | Requested::indices | Requested::hash, 0};
    REQUIRE(shape.lines() == 12);
    std::vector<ResultLine> lines(shape.lines());
    for (std::uint32_t part = 0; part < 2; ++part) {
        for (std::uint32_t block = 0; block < 2; ++block) {
            const double value = part * 10.0 + block;
            write_line(lines[part * 6 + block], kSequence, moments(1, value, 0, value, value));
            write_line(lines[part * 6 + 4 + block], kSequence,
                       Words{block, block, part == 0 ? 100U + block : 0});
        }
    }
    TensorPartial total;
    REQUIRE(gather(lines.data(), shape, kSequence, total) == Gathered::whole);
    CHECK(total.hash == 201);
    for (std::uint32_t part = 0; part < 2; ++part) {
        CAPTURE(part);
        CHECK(total.parts[part].mean == part * 10 + 0.5);
        CHECK(total.parts[part].minimum_index == 0);
        CHECK(total.parts[part].maximum_index == 1);
    }
}

TEST_CASE("As long as any line is missing there is no result, whichever it is") {
    const ResultShape shape{4, DType::int32, kPrinted, 0};
    for (std::uint32_t missing = 0; missing < shape.lines(); ++missing) {
        std::vector<ResultLine> lines(shape.lines());
        for (std::uint32_t i = 0; i < shape.lines(); ++i)
            write_line(lines[i], i == missing ? kSequence - 1 : kSequence, no_moments());
        TensorPartial total;
        CAPTURE(missing);
        CHECK(gather(lines.data(), shape, kSequence, total) == Gathered::not_yet);
        write_line(lines[missing], kSequence, no_moments());
        CHECK(gather(lines.data(), shape, kSequence, total) == Gathered::whole);
    }
}

TEST_CASE("A line with any piece of an earlier launch counts as missing") {
    aoti_dbg::Random random(3);
    const ResultShape shape{1, DType::float32, kPrinted, 0};
    for (int round = 0; round < 2000; ++round) {
        ResultLine earlier;
        ResultLine line;
        Words words = no_moments();
        for (std::uint32_t i = 0; i + 1 < kLineWords; ++i)
            words[i] = random.bits();
        write_line(line, kSequence, words);
        // The device writes sixteen bytes at a time, which may arrive in any order.
        for (std::uint32_t i = 0; i + 1 < kLineWords; ++i)
            if (random.one_in(2)) words[i] ^= 1ULL << random.below(64);
        write_line(earlier, kSequence - 1, words);
        const std::size_t quarter = random.below(4) * 16;
        ResultLine torn = line;
        std::memcpy(reinterpret_cast<char*>(&torn) + quarter, reinterpret_cast<char*>(&earlier) + quarter,
                    16);
        const bool is_same = std::memcmp(&torn, &line, sizeof(line)) == 0;
        TensorPartial total;
        REQUIRE((gather(&torn, shape, kSequence, total) == Gathered::whole) == is_same);
    }
}

TEST_CASE("A refused job says so, whatever else its lines contain") {
    const ResultShape shape{100, DType::complex128, kPrinted | Requested::hash, 0};
    std::vector<ResultLine> lines(shape.lines());
    write_refusal(lines.data(), kSequence);
    TensorPartial total;
    CHECK(gather(lines.data(), shape, kSequence, total) == Gathered::refused);
    CHECK(gather(lines.data(), shape, kSequence + 1, total) == Gathered::not_yet);
}

TEST_CASE("Elements arrive unchanged, however many lines they fill") {
    for (const std::uint32_t count : {1U, 7U, 14U, 15U, 64U}) {
        const ResultShape shape{1, DType::float32, kPrinted, value_bytes(DType::float32, kPrinted, count)};
        CAPTURE(count);
        REQUIRE(shape.bytes_of_values == count * 4);
        std::vector<ResultLine> lines(shape.lines());
        std::vector<std::uint64_t> words(kLineWords * 20);
        for (std::size_t i = 0; i < words.size(); ++i)
            words[i] = i * 0x0101010101010101ULL;
        const std::uint32_t value_lines = shape.lines() - shape.lines_of_blocks();
        std::vector<std::byte> values(shape.bytes_of_values);
        CHECK_FALSE(gather_values(lines.data(), shape, kSequence, values));
        for (std::uint32_t i = 0; i < value_lines; ++i)
            write_line(lines[shape.lines_of_blocks() + i], kSequence,
                       std::span(words).subspan(std::size_t{i} * kLineWords, kLineWords));
        REQUIRE(gather_values(lines.data(), shape, kSequence, values));
        CHECK(std::memcmp(values.data(), words.data(), values.size()) == 0);
    }
    CHECK(value_bytes(DType::complex128, kPrinted, 64) == 1024);
    CHECK(value_bytes(DType::complex128, kPrinted, 65) == 0);
    CHECK(value_bytes(DType::float32, Requested::findings, 3) == 0);
}

TEST_CASE("Moments near the end of double's range, and of one far outlier, are correct") {
    const ResultShape shape{3, DType::float64, kPrinted, 0};
    std::vector<ResultLine> lines(shape.lines());
    TensorPartial total;
    const auto of_means = [&](double a, double b, double c) {
        const double means[] = {a, b, c};
        for (std::uint32_t i = 0; i < 3; ++i)
            write_line(lines[i], kSequence, moments(10, means[i], 0, means[i], means[i]));
        REQUIRE(gather(lines.data(), shape, kSequence, total) == Gathered::whole);
        return total.parts[0];
    };
    CHECK(std::fabs(of_means(1e308, 1e308, -1e308).mean / (1e308 / 3) - 1) < 1e-12);
    CHECK(std::fabs(of_means(1e300, 1, 1).mean / (1e300 / 3) - 1) < 1e-12);
    const PartialStatistics near = of_means(1e10, 1e10 + 1, 1e10 + 2);
    CHECK(near.mean == 1e10 + 1);
    CHECK(near.m2 == 20);
}

}  // namespace aoti_dbg::stats_lines_test
