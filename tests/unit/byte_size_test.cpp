// Amounts of bytes, invalid ones first.
#include "config/byte_size.hpp"

#include "tests/support/catch.hpp"

namespace aoti_dbg::byte_size_test {

TEST_CASE("Text that is no amount of bytes is refused") {
    const std::string text = GENERATE("", " ", "B", "GB", ".5G", "1.", "1..2", "1.2.3", "-1", "+1", "1e9",
                                      "0x10", "5 %", "1KBs", "1iB", "1 K B", "1kib b", "\xFF", "1\xB5");
    CAPTURE(text);
    CHECK_FALSE(parse_byte_size(text));
}

TEST_CASE("An amount beyond 64 bits becomes the largest one") {
    CHECK(parse_byte_size("99999999999999999999999999999999999999999999") == UINT64_MAX);
    CHECK(parse_byte_size("18446744073709551616") == UINT64_MAX);
    CHECK(parse_byte_size("18446744073709551615") == UINT64_MAX);
    CHECK(parse_byte_size("18446744073709551614") == UINT64_MAX - 1);
    CHECK(parse_byte_size("99999999999T") == UINT64_MAX);
}

TEST_CASE("Units are powers of 1000 or of 1024, in any case, with or without a space") {
    CHECK(parse_byte_size("0") == 0U);
    CHECK(parse_byte_size("4096") == 4096U);
    CHECK(parse_byte_size("4096b") == 4096U);
    CHECK(parse_byte_size("2k") == 2000U);
    CHECK(parse_byte_size("2 KB") == 2000U);
    CHECK(parse_byte_size("2Ki") == 2048U);
    CHECK(parse_byte_size("2kib") == 2048U);
    CHECK(parse_byte_size("20GB") == 20'000'000'000U);
    CHECK(parse_byte_size("1MiB") == 1'048'576U);
    CHECK(parse_byte_size("1T") == 1'000'000'000'000U);
    CHECK(parse_byte_size("1TiB") == 1'099'511'627'776U);
}

TEST_CASE("A fraction is exact down to a byte") {
    CHECK(parse_byte_size("1.5KiB") == 1536U);
    CHECK(parse_byte_size("0.001k") == 1U);
    CHECK(parse_byte_size("2.75GB") == 2'750'000'000U);
    CHECK(parse_byte_size("0.9") == 0U);
}

TEST_CASE("An amount is printed in the unit that gives it at most three digits") {
    CHECK(byte_size_text(0) == "0 B");
    CHECK(byte_size_text(999) == "999 B");
    CHECK(byte_size_text(1000) == "1.0 kB");
    CHECK(byte_size_text(20'000'000'000U) == "20.0 GB");
    CHECK(byte_size_text(1'234'567) == "1.2 MB");
    CHECK(byte_size_text(1'250'000) == "1.3 MB");
    CHECK(byte_size_text(UINT64_MAX) == "18446744.1 TB");
}

}  // namespace aoti_dbg::byte_size_test
