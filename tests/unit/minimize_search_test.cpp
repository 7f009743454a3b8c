// The searches that make a launch smaller, with functions in place of its replays.
#include "cli/replay/minimize_search.hpp"

#include <algorithm>
#include <numeric>

#include "tests/support/catch.hpp"

namespace aoti_dbg::cli::minimize_search_test {
namespace {

Rows first_rows(std::size_t count) {
    Rows rows(count);
    std::iota(rows.begin(), rows.end(), 0);
    return rows;
}

/// The rows that are left if the verdict needs all of `needed`, and the number of trials.
struct Search {
    Search(std::size_t count, const Rows& needed, std::size_t most_trials = 1000) {
        found = needed_rows(first_rows(count), most_trials, [&](const Rows& rows) {
            ++trials;
            CHECK(std::ranges::is_sorted(rows));
            return std::ranges::includes(rows, needed);
        });
    }
    Rows found;
    std::size_t trials = 0;
};

TEST_CASE("The smallest prefix of blocks is found by halves") {
    for (const std::uint32_t most : {1U, 2U, 7U, 64U, 4294967295U}) {
        for (const std::uint32_t needed : {1U, 2U, most / 2 + 1, most}) {
            if (needed > most) continue;
            int trials = 0;
            const auto holds = [&](std::uint32_t blocks) {
                ++trials;
                CHECK(blocks < most);
                return blocks >= needed;
            };
            CAPTURE(most, needed);
            CHECK(smallest_prefix(most, holds) == needed);
            CHECK(trials <= 32);
        }
    }
}

TEST_CASE("A prefix that is found holds, even if larger ones do not") {
    const auto holds = [](std::uint32_t blocks) { return blocks % 3 == 1; };
    CHECK(holds(smallest_prefix(100, holds)));
}

TEST_CASE("Rows that the verdict needs are found among many") {
    for (const Rows& needed : {Rows{0}, Rows{15}, Rows{999}, Rows{3, 4}, Rows{0, 500, 999}}) {
        const Search search(1000, needed);
        CAPTURE(needed, search.trials);
        CHECK(search.found == needed);
    }
    CHECK(Search(1024, {77}).trials <= 40);
    CHECK(Search(7, first_rows(7)).found == first_rows(7));
    CHECK(Search(1, {0}).trials == 0);
    CHECK(needed_rows({}, 10, [](const Rows&) { return true; }).empty());
}

TEST_CASE("A search of rows that runs out of trials returns rows that hold") {
    const Rows needed = {1, 60, 90};
    const Search search(100, needed, 5);
    CHECK(search.trials == 5);
    CHECK(search.found.size() < 100);
    CHECK(std::ranges::includes(search.found, needed));
}

TEST_CASE("Rows are named in words") {
    CHECK(row_words({15}, 16) == "row 15 of 16 matters");
    CHECK(row_words({3, 4}, 8) == "rows 3 and 4 of 8 matter");
    CHECK(row_words({3, 7, 12, 13, 14, 15}, 64) == "rows 3, 7, 12 to 15 of 64 matter");
    CHECK(row_words({1, 3, 5, 7, 9, 11, 13, 15, 17}, 20) == "9 of 20 rows matter");
}

}  // namespace
}  // namespace aoti_dbg::cli::minimize_search_test
