// How much may be saved: the last tenth first.
#include "shim/save/save_budget.hpp"

#include "tests/support/catch.hpp"

namespace aoti_dbg::save_budget_test {

using Answer = SaveBudget::Answer;

namespace {

/// A file system of 1000-byte blocks.
struct statvfs disk(std::uint64_t blocks, std::uint64_t available, std::uint64_t files = 0,
                    std::uint64_t files_available = 0) {
    struct statvfs found {};
    found.f_frsize = 1000;
    found.f_blocks = blocks;
    found.f_bavail = available;
    found.f_files = files;
    found.f_favail = files_available;
    return found;
}

SaveBudget budget_on(const struct statvfs& found, std::uint64_t bytes = UINT64_MAX,
                     std::uint64_t files = UINT64_MAX) {
    SaveBudget budget(bytes, files);
    CHECK(budget.wants_look(0));
    budget.look(found, 0);
    return budget;
}

}  // namespace

TEST_CASE("Nothing goes into the last tenth of a file system, of its bytes or of its files") {
    SaveBudget budget = budget_on(disk(100, 12));
    CHECK(budget.ask(2001, 0) == Answer::disk_full);
    CHECK(budget.ask(2000, 0) == Answer::granted);
    CHECK(budget.ask(1, 0) == Answer::disk_full);
    CHECK(budget_on(disk(100, 10)).ask(1, 0) == Answer::disk_full);
    CHECK(budget_on(disk(100, 3)).ask(1, 0) == Answer::disk_full);
    CHECK(budget_on(disk(100, 90, 1000, 100)).ask(1, 0) == Answer::disk_full);
    CHECK(budget_on(disk(100, 90, 1000, 101)).ask(1, 0) == Answer::granted);
}

TEST_CASE("Granted bytes that are not written yet reduce the room at the next check") {
    SaveBudget budget = budget_on(disk(100, 50));
    REQUIRE(budget.ask(30000, 0) == Answer::granted);
    budget.note_written(10000);
    budget.look(disk(100, 40), 1);  // the disk already counts the written ones
    CHECK(budget.ask(10001, 0) == Answer::disk_full);
    CHECK(budget.ask(10000, 0) == Answer::granted);
}

TEST_CASE("A file system of unknown size is not full") {
    SaveBudget budget = budget_on({});
    CHECK(budget.ask(UINT64_MAX / 2, 0) == Answer::granted);
}

TEST_CASE("Sizes near the end of 64 bits do not wrap around") {
    SaveBudget budget = budget_on({}, 100);
    CHECK(budget.ask(UINT64_MAX, 0) == Answer::too_many_bytes);
    CHECK(budget.ask(50, UINT64_MAX - 10) == Answer::too_many_bytes);
    CHECK(budget_on(disk(UINT64_MAX, UINT64_MAX)).ask(1, 0) == Answer::granted);
}

TEST_CASE("The cap counts everything that is written, and is reached exactly") {
    SaveBudget budget = budget_on(disk(1000, 1000), 100);
    CHECK(budget.ask(60, 30) == Answer::granted);
    CHECK(budget.ask(11, 30) == Answer::too_many_bytes);
    CHECK(budget.ask(10, 30) == Answer::granted);
    CHECK(budget.ask(0, 30) == Answer::granted);
    CHECK(budget.ask(0, 31) == Answer::too_many_bytes);
}

TEST_CASE("Files are counted, links too, and returned room can be granted again") {
    SaveBudget budget = budget_on(disk(1000, 1000), 100, 2);
    CHECK(budget.ask(60, 0) == Answer::granted);
    CHECK(budget.ask(0, 0) == Answer::granted);
    CHECK(budget.ask(0, 0) == Answer::too_many_files);
    budget.give_back(60, 20);
    CHECK(budget.bytes() == 0);
    CHECK(budget.files() == 1);
    budget.look(disk(1000, 1000), 1);
    CHECK(budget.ask(100, 0) == Answer::granted);
    budget.give_back_bytes(100, 0);
    CHECK(budget.files() == 2);
    CHECK(budget.bytes() == 0);
}

TEST_CASE("The disk is checked again after a while, and sooner if room is short") {
    SaveBudget budget = budget_on(disk(1000000, 1000000));
    CHECK_FALSE(budget.wants_look(1000));
    CHECK(budget.wants_look(1'000'000'000));
    REQUIRE(budget.ask(200'000'000, 0) == Answer::granted);
    CHECK(budget.wants_look(1000));
    budget.look(disk(1000000, 800000), 2000);
    CHECK_FALSE(budget.wants_look(3000));
    budget.note_removed(100);
    CHECK(budget.wants_look(3000));
}

}  // namespace aoti_dbg::save_budget_test
