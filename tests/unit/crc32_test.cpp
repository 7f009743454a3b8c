// The checksum of zip files: its implementations agree, and parts combine.
#include "serializer/crc32.hpp"

#include <string_view>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/random.hpp"

namespace aoti_dbg::crc32_test {
namespace {

std::uint32_t crc_of(std::string_view text) {
    return crc32(0, std::as_bytes(std::span(text)));
}

/// The definition of the standard: one bit at a time.
std::uint32_t slowly(std::uint32_t crc, std::span<const std::byte> bytes) {
    crc = ~crc;
    for (const std::byte byte : bytes) {
        crc ^= static_cast<std::uint32_t>(byte);
        for (int bit = 0; bit < 8; ++bit)
            crc = (crc >> 1U) ^ ((crc & 1U) != 0 ? 0xedb88320U : 0U);
    }
    return ~crc;
}

std::vector<std::byte> random_bytes(std::size_t count) {
    Random random(count + 1);
    std::vector<std::byte> bytes(count);
    for (std::byte& byte : bytes)
        byte = static_cast<std::byte>(random.bits() >> 56U);
    return bytes;
}

TEST_CASE("The checksum is that of zip files") {
    CHECK(crc_of("") == 0);
    CHECK(crc_of("a") == 0xe8b7be43);
    CHECK(crc_of("123456789") == 0xcbf43926);
    CHECK(crc_of("The quick brown fox jumps over the lazy dog") == 0x414fa339);
}

TEST_CASE("Both implementations agree with the definition for every length, address and start") {
    if (!crc32_can_fold()) WARN("this processor cannot fold: one way is tested twice");
    const std::vector<std::byte> bytes = random_bytes(1500);
    Random random;
    for (std::size_t length = 0; length < 1400; ++length) {
        const std::span<const std::byte> part = std::span(bytes).subspan(random.below(64), length);
        const auto crc = random.one_in(4) ? 0 : static_cast<std::uint32_t>(random.bits());
        const std::uint32_t expected = slowly(crc, part);
        REQUIRE(crc32_by_tables(crc, part) == expected);
        REQUIRE(crc32_by_folding(crc, part) == expected);
        REQUIRE(crc32(crc, part) == expected);
    }
}

TEST_CASE("Both notice a single changed bit anywhere") {
    std::vector<std::byte> bytes = random_bytes(300);
    const std::uint32_t before = crc32(0, bytes);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        bytes[i] ^= std::byte{0x10};
        REQUIRE(crc32_by_tables(0, bytes) != before);
        REQUIRE(crc32_by_folding(0, bytes) != before);
        bytes[i] ^= std::byte{0x10};
    }
    CHECK(crc32(0, bytes) == before);
}

TEST_CASE("Checksums of parts combine, wherever the whole was cut") {
    const std::vector<std::byte> bytes = random_bytes(5000);
    const std::uint32_t whole = crc32(0, bytes);
    for (std::size_t cut = 0; cut <= bytes.size(); cut += 41) {
        const std::span<const std::byte> first = std::span(bytes).first(cut);
        const std::span<const std::byte> second = std::span(bytes).subspan(cut);
        REQUIRE(crc32(crc32(0, first), second) == whole);
        REQUIRE(crc32_combine(crc32(0, first), crc32(0, second), second.size()) == whole);
    }
    CHECK(crc32_combine(whole, crc32(0, {}), 0) == whole);
    CHECK(crc32_combine(crc32(0, {}), whole, bytes.size()) == whole);
}

TEST_CASE("Zeros need not be read") {
    CHECK(crc32_of_zeros(0) == 0);
    for (const std::size_t count : {1U, 2U, 127U, 128U, 4096U, 100003U}) {
        REQUIRE(crc32_of_zeros(count) == crc32(0, std::vector<std::byte>(count)));
    }
}

TEST_CASE("Lengths of terabytes combine as those of bytes do") {
    // Of 4 GiB of zeros, by zlib.
    CHECK(crc32_of_zeros(std::uint64_t{1} << 32U) == 0xd202ef8d);
    for (const std::uint64_t count : {std::uint64_t{1} << 40U, ~std::uint64_t{0} - 12345}) {
        REQUIRE(crc32_combine(crc32_of_zeros(count), crc32_of_zeros(12345), 12345) ==
                crc32_of_zeros(count + 12345));
    }
}

}  // namespace
}  // namespace aoti_dbg::crc32_test
