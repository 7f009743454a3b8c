// The alignment of two sequences, against a naive implementation.
#include "compare/alignment.hpp"

#include <algorithm>

#include "tests/support/catch.hpp"
#include "tests/support/random.hpp"

namespace aoti_dbg::compare::alignment_test {
namespace {

Keys random_keys(Random& random, std::size_t longest, std::size_t kinds) {
    Keys keys(random.below(longest + 1));
    for (std::uint32_t& key : keys)
        key = static_cast<std::uint32_t>(random.below(kinds));
    return keys;
}

/// The length of the longest common subsequence.
std::size_t most_pairs(const Keys& first, const Keys& second) {
    std::vector<std::vector<std::size_t>> best(first.size() + 1, std::vector<std::size_t>(second.size() + 1));
    for (std::size_t i = first.size(); i-- > 0;)
        for (std::size_t j = second.size(); j-- > 0;)
            best[i][j] =
                first[i] == second[j] ? 1 + best[i + 1][j + 1] : std::max(best[i + 1][j], best[i][j + 1]);
    return best[0][0];
}

bool is_pair(const Aligned& entry) {
    return entry.first != kNoPartner && entry.second != kNoPartner;
}

/// Whether the result has each element once, in order, and returns its pairs.
std::vector<Aligned> checked_pairs(const std::vector<Aligned>& result, std::size_t first,
                                   std::size_t second) {
    std::size_t ours = 0;
    std::size_t theirs = 0;
    std::vector<Aligned> pairs;
    for (const Aligned& entry : result) {
        if (entry.first != kNoPartner) REQUIRE(entry.first == ours++);
        if (entry.second != kNoPartner) REQUIRE(entry.second == theirs++);
        if (is_pair(entry)) pairs.push_back(entry);
    }
    REQUIRE(ours == first);
    REQUIRE(theirs == second);
    return pairs;
}

TEST_CASE("An alignment has as many pairs as possible, and only equal ones") {
    Random random(1);
    for (int round = 0; round < 20000; ++round) {
        const std::size_t kinds = 1 + random.below(5);
        const Keys first = random_keys(random, 14, kinds);
        const Keys second = random_keys(random, 14, kinds);
        const std::vector<Aligned> pairs = checked_pairs(
            align(std::span<const std::uint32_t>(first), std::span<const std::uint32_t>(second)),
            first.size(), second.size());
        for (const Aligned& pair : pairs)
            REQUIRE(first[pair.first] == second[pair.second]);
        REQUIRE(pairs.size() == most_pairs(first, second));
    }
}

TEST_CASE("What has no partner by the first keys is aligned by the second") {
    const std::vector<Keys> first = {{1, 2, 3, 4}, {10, 20, 30, 40}};
    const std::vector<Keys> second = {{1, 8, 9, 4}, {10, 20, 90, 40}};
    const std::vector<Aligned> pairs = checked_pairs(align(std::span(first), std::span(second)), 4, 4);
    CHECK(pairs == std::vector<Aligned>{{0, 0}, {1, 1}, {3, 3}});
}

TEST_CASE("Sequences with too many differences still have every element once") {
    Random random(2);
    Keys first(20000);
    Keys second(20000);
    for (std::uint32_t& key : first)
        key = static_cast<std::uint32_t>(random.below(5000));
    for (std::uint32_t& key : second)
        key = static_cast<std::uint32_t>(random.below(5000));
    checked_pairs(align(std::span<const std::uint32_t>(first), std::span<const std::uint32_t>(second)),
                  first.size(), second.size());
}

}  // namespace
}  // namespace aoti_dbg::compare::alignment_test
