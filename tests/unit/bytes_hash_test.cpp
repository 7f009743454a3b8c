// The hash that recognizes a tensor as already saved. It must catch every difference, however the parts are
// hashed.
#include "stats_kernels/bytes_hash.hpp"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "tests/support/catch.hpp"

namespace aoti_dbg::bytes_hash_test {
namespace {

using Bytes = std::vector<std::byte>;

BytesHash hash_of(const Bytes& bytes) {
    BytesHash hash;
    add_bytes(hash, bytes, 0);
    return finished(hash, bytes.size());
}

Bytes some_bytes(std::size_t count) {
    Bytes bytes(count);
    std::uint64_t state = 88172645463325252ULL;
    for (std::byte& byte : bytes) {
        state ^= state << 13U;
        state ^= state >> 7U;
        state ^= state << 17U;
        byte = static_cast<std::byte>(state);
    }
    return bytes;
}

}  // namespace

TEST_CASE("The number of bytes counts, even for zeros and for no bytes") {
    std::set<std::pair<std::uint64_t, std::uint64_t>> seen;
    for (std::size_t count = 0; count < 200; ++count) {
        const BytesHash hash = hash_of(Bytes(count));
        CHECK(seen.emplace(hash.low, hash.high).second);
    }
}

TEST_CASE("Every bit counts, wherever it is") {
    const std::size_t count = GENERATE(1, 15, 16, 17, 48, 1000);
    CAPTURE(count);
    Bytes bytes = some_bytes(count);
    const BytesHash whole = hash_of(bytes);
    for (std::size_t bit = 0; bit < count * 8; ++bit) {
        bytes[bit / 8] ^= static_cast<std::byte>(1U << bit % 8);
        if (hash_of(bytes) == whole) FAIL("bit " << bit << " is not told");
        bytes[bit / 8] ^= static_cast<std::byte>(1U << bit % 8);
    }
    CHECK(hash_of(bytes) == whole);
}

TEST_CASE("Another order is another content, of groups or within one") {
    Bytes bytes = some_bytes(160);
    const BytesHash whole = hash_of(bytes);
    for (const std::size_t step : {std::size_t{1}, std::size_t{8}, std::size_t{16}, std::size_t{64}}) {
        Bytes turned = bytes;
        std::rotate(turned.begin(), turned.begin() + static_cast<std::ptrdiff_t>(step), turned.end());
        CHECK_FALSE(hash_of(turned) == whole);
    }
    Bytes swapped = bytes;
    std::swap_ranges(swapped.begin(), swapped.begin() + 16, swapped.begin() + 64);
    CHECK_FALSE(hash_of(swapped) == whole);
}

TEST_CASE("Small numbers, which have few bits of their own, differ") {
    std::set<std::pair<std::uint64_t, std::uint64_t>> seen;
    for (int i = 0; i < 20000; ++i) {
        const float values[4] = {static_cast<float>(i % 10), static_cast<float>(i / 10 % 10),
                                 static_cast<float>(i / 100 % 10), static_cast<float>(i / 1000)};
        Bytes bytes(sizeof values);
        std::copy_n(reinterpret_cast<const std::byte*>(values), sizeof values, bytes.begin());
        const BytesHash hash = hash_of(bytes);
        CHECK(seen.emplace(hash.low, hash.high).second);
    }
}

TEST_CASE("Parts hashed separately, in any order, give the same result") {
    const Bytes bytes = some_bytes(4096 + 5);
    const std::span<const std::byte> all(bytes);
    const BytesHash whole = hash_of(bytes);
    for (const std::size_t cut : {std::size_t{16}, std::size_t{32}, std::size_t{1008}, std::size_t{4096}}) {
        BytesHash hash;
        add_bytes(hash, all.subspan(cut), cut / kHashGroupBytes);
        add_bytes(hash, all.first(cut), 0);
        CHECK(finished(hash, bytes.size()) == whole);
    }
}

TEST_CASE("The address of the bytes makes no difference") {
    const Bytes bytes = some_bytes(333);
    for (std::size_t offset = 0; offset < 40; ++offset) {
        Bytes moved(offset);
        moved.insert(moved.end(), bytes.begin(), bytes.end());
        BytesHash hash;
        add_bytes(hash, std::span<const std::byte>(moved).subspan(offset), 0);
        CHECK(finished(hash, bytes.size()) == hash_of(bytes));
    }
}

}  // namespace aoti_dbg::bytes_hash_test
