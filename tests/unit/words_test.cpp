// Pieces of sentences: amounts of memory as reports print them.
#include "base/words.hpp"

#include "tests/support/catch.hpp"

namespace aoti_dbg::words_test {
namespace {

constexpr std::uint64_t kKiB = 1024;
constexpr std::uint64_t kMiB = 1024 * kKiB;
constexpr std::uint64_t kGiB = 1024 * kMiB;
constexpr std::uint64_t kTiB = 1024 * kGiB;

TEST_CASE("Amounts of memory are exact as far as readers need") {
    CHECK(memory_text(0) == "0 bytes");
    CHECK(memory_text(1) == "1 byte");
    CHECK(memory_text(1023) == "1023 bytes");
    CHECK(memory_text(1024) == "1 KiB");
    CHECK(memory_text(1025) == "1025 bytes");
    CHECK(memory_text(4 * kKiB) == "4 KiB");
    CHECK(memory_text(kMiB - kKiB) == "1023 KiB");
    CHECK(memory_text(kMiB - 1) == "1048575 bytes");
    CHECK(memory_text(kMiB) == "1 MiB");
    CHECK(memory_text(16 * kMiB - 1) == "16777215 bytes");
    CHECK(memory_text(20 * kMiB) == "20 MiB");
    CHECK(memory_text(12 * kGiB) == "12 GiB");
    CHECK(memory_text(1024 * kTiB) == "1024 TiB");
}

TEST_CASE("Large amounts are rounded to tenths, which are printed unless zero") {
    CHECK(memory_text(20 * kMiB + kMiB / 2) == "20.5 MiB");
    CHECK(memory_text(78 * kMiB - 4 * kKiB) == "78 MiB");
    CHECK(memory_text(78 * kMiB + 80 * kKiB) == "78.1 MiB");
    CHECK(memory_text(139 * kGiB + 820 * kMiB) == "139.8 GiB");
    CHECK(memory_text(2 * kGiB - 1) == "2 GiB");
    CHECK(memory_text(UINT64_MAX) == "16777216 TiB");
}

TEST_CASE("One thing has the singular, and other numbers the plural") {
    CHECK(counted(0, "call") == "0 calls");
    CHECK(counted(1, "call") == "1 call");
    CHECK(counted(2, "call") == "2 calls");
}

TEST_CASE("Words are joined with a separator between them, not around") {
    CHECK(joined({}, ", ").empty());
    CHECK(joined({"a"}, ", ") == "a");
    CHECK(joined({"a", "b", "c"}, ", ") == "a, b, c");
}

}  // namespace
}  // namespace aoti_dbg::words_test
