// The runs that are kept; unfinished ones first.
#include "shim/save/kept_runs.hpp"

#include <algorithm>
#include <set>

#include "tests/support/catch.hpp"

namespace aoti_dbg::kept_runs_test {
namespace {

bool save(KeptRuns& runs, std::uint32_t run, const std::string& path) {
    if (!runs.begin_file(run)) return false;
    runs.end_file(run, {path});
    return true;
}

}  // namespace

TEST_CASE("A run is not removed before its last file is finished, and then with that file") {
    KeptRuns runs(1, false);
    REQUIRE(runs.begin_file(0));
    REQUIRE(runs.begin_file(0));
    runs.end_file(0, {"a"});
    REQUIRE(save(runs, 1, "b"));
    runs.end_run(1, false);
    CHECK(runs.is_going(0));
    CHECK_FALSE(runs.is_going(1));
    CHECK_FALSE(runs.has_evicted());
    CHECK_FALSE(runs.take_evicted());
    runs.end_file(0, {"late"});
    REQUIRE(runs.has_evicted());
    const std::optional<EvictedRun> evicted = runs.take_evicted();
    REQUIRE(evicted);
    CHECK(evicted->run == 0);
    CHECK(evicted->why == WhyEvicted::older);
    CHECK(evicted->files == std::vector<KeptFile>{{"a", 0}, {"late", 0}});
    CHECK_FALSE(runs.take_evicted());
}

TEST_CASE("A run that was removed while running gets no more files until it ends") {
    KeptRuns runs(1, false);
    REQUIRE(save(runs, 0, "a"));
    REQUIRE(save(runs, 1, "b"));
    runs.end_run(1, false);
    REQUIRE(runs.take_evicted());
    CHECK_FALSE(runs.begin_file(0));
    runs.end_run(0, false);
    CHECK_FALSE(runs.has_evicted());
    CHECK_FALSE(runs.is_going(0));
}

TEST_CASE("The last whole runs are kept") {
    KeptRuns runs(2, false);
    for (std::uint32_t run = 0; run < 10; ++run) {
        REQUIRE(save(runs, run, "run" + std::to_string(run)));
        runs.end_run(run, false);
        const std::optional<EvictedRun> evicted = runs.take_evicted();
        CHECK(evicted.has_value() == (run >= 2));
        if (evicted) CHECK(evicted->run == run - 2);
    }
}

TEST_CASE("With findings alone a run without one is removed when it ends, and does not count before") {
    KeptRuns runs(1, true);
    REQUIRE(save(runs, 0, "a"));
    runs.end_run(0, true);
    REQUIRE(save(runs, 1, "b"));
    CHECK_FALSE(runs.has_evicted());  // run 0 stays while the result of run 1 is open
    runs.end_run(1, false);
    const std::optional<EvictedRun> evicted = runs.take_evicted();
    REQUIRE(evicted);
    CHECK(evicted->run == 1);
    CHECK(evicted->why == WhyEvicted::no_finding);
    REQUIRE(save(runs, 2, "c"));
    runs.end_run(2, true);
    REQUIRE(runs.take_evicted()->run == 0);
    CHECK_FALSE(runs.take_evicted());
}

TEST_CASE("At the cap the oldest run is removed, but never the requesting one, and none without a window") {
    KeptRuns runs(5, false);
    REQUIRE(save(runs, 3, "a"));
    CHECK_FALSE(runs.release_oldest(3));
    REQUIRE(save(runs, 4, "b"));
    CHECK(runs.release_oldest(4));
    const std::optional<EvictedRun> evicted = runs.take_evicted();
    REQUIRE(evicted);
    CHECK(evicted->run == 3);
    CHECK(evicted->why == WhyEvicted::no_room);
    CHECK_FALSE(runs.release_oldest(4));
    KeptRuns all(0, true);
    REQUIRE(save(all, 0, "a"));
    all.end_run(0, true);
    CHECK_FALSE(all.release_oldest(1));
}

TEST_CASE("Files outside of runs stay, and a file that was not written cannot be removed") {
    KeptRuns runs(1, true);
    REQUIRE(save(runs, ~0U, "outside"));
    runs.end_run(~0U, false);
    REQUIRE(save(runs, 0, ""));
    runs.end_run(0, false);
    const std::optional<EvictedRun> evicted = runs.take_evicted();
    REQUIRE(evicted);
    CHECK(evicted->files.empty());
    CHECK_FALSE(runs.has_evicted());
}

TEST_CASE("If all runs stay, nothing is tracked") {
    KeptRuns runs(0, false);
    CHECK_FALSE(runs.any_may_go());
    CHECK(save(runs, 0, "a"));
    runs.end_run(0, false);
    CHECK_FALSE(runs.has_evicted());
}

TEST_CASE("A run stays until enough newer runs are whole") {
    KeptRuns runs(2, false);
    for (std::uint32_t run = 0; run < 2; ++run) {
        REQUIRE(save(runs, run, "run" + std::to_string(run)));
        runs.end_run(run, false);
    }
    REQUIRE(runs.begin_file(2));
    REQUIRE(runs.begin_file(3));
    runs.end_run(2, false);
    CHECK_FALSE(runs.has_evicted());  // it has ended, but not all of its files are on disk
    runs.end_file(2, {"run2"});
    REQUIRE(runs.take_evicted()->run == 0);
    CHECK_FALSE(runs.has_evicted());
    runs.end_file(3, {"run3"});
    CHECK_FALSE(runs.has_evicted());  // more of its files may come
    runs.end_run(3, false);
    REQUIRE(runs.take_evicted()->run == 1);
}

TEST_CASE("The kept runs are consecutive, even if a newer one is whole first") {
    KeptRuns runs(2, false);
    for (const std::uint32_t run : {0U, 1U}) {
        REQUIRE(save(runs, run, "a"));
        runs.end_run(run, false);
    }
    for (const std::uint32_t run : {2U, 3U}) {
        REQUIRE(runs.begin_file(run));
        runs.end_run(run, false);
    }
    runs.end_file(3, {"run3"});
    CHECK_FALSE(runs.has_evicted());
    SECTION("until that one is whole too") {
        runs.end_file(2, {"run2"});
    }
    SECTION("or until there are enough newer ones") {
        REQUIRE(save(runs, 4, "run4"));
        runs.end_run(4, false);
        CHECK(runs.is_going(2));
        runs.end_file(2, {"run2"});
    }
    std::set<std::uint32_t> gone;
    while (runs.has_evicted())
        gone.insert(runs.take_evicted()->run);
    const std::set<std::uint32_t> older = {0, 1};
    CHECK(std::includes(gone.begin(), gone.end(), older.begin(), older.end()));
    CHECK_FALSE(runs.is_going(3));
}

TEST_CASE("A run without any file on disk does not replace one that has files") {
    KeptRuns runs(1, false);
    REQUIRE(save(runs, 0, "a"));
    runs.end_run(0, false);
    REQUIRE(save(runs, 1, ""));
    runs.end_run(1, false);
    CHECK_FALSE(runs.has_evicted());
    CHECK(runs.tracked() == 1);
}

TEST_CASE("A run never makes room for an older one") {
    KeptRuns runs(5, false);
    REQUIRE(runs.begin_file(3));
    REQUIRE(save(runs, 4, "b"));
    CHECK_FALSE(runs.release_oldest(3));
    CHECK_FALSE(runs.is_going(4));
}

TEST_CASE("Empty folders are removed, with the run or when it is whole") {
    KeptRuns runs(1, false);
    for (std::uint32_t run = 0; run < 2; ++run) {
        const std::string folder = "run000" + std::to_string(run);
        REQUIRE(runs.begin_file(run));
        REQUIRE(runs.begin_file(run));
        runs.note_folder(run, folder + "/call0000");
        runs.note_folder(run, folder + "/call0001");
        runs.end_file(run, {folder + "/call0000/a.pt"});
        runs.end_file(run, {});
    }
    CHECK(runs.take_empty_folders().empty());
    runs.end_run(1, false);
    CHECK(runs.has_chores());
    CHECK(runs.take_empty_folders() == std::vector<std::string>{"run0001/call0001"});
    const std::optional<EvictedRun> evicted = runs.take_evicted();
    REQUIRE(evicted);
    CHECK(evicted->run == 0);
    CHECK(evicted->folders == std::set<std::string>{"run0000/call0000", "run0000/call0001"});
    CHECK_FALSE(runs.has_chores());
}

TEST_CASE("The tracked state stays bounded, even if runs do not end") {
    KeptRuns runs(3, false);
    const bool ends = GENERATE(true, false);
    std::size_t most = 0;
    for (std::uint32_t run = 0; run < 100000; ++run) {
        REQUIRE(save(runs, run, "a"));
        if (ends || run % 10 == 0) runs.end_run(run, false);
        while (runs.take_evicted()) {
        }
        most = std::max(most, runs.tracked());
    }
    CHECK(most <= (ends ? 4 : KeptRuns::kMostGone + 40));
}

TEST_CASE("A run goes with the files that the caller tracks, but not before these are finished") {
    KeptRuns runs(1, false);
    REQUIRE(save(runs, 0, "a"));
    REQUIRE(runs.begin_file(0));
    runs.end_run(0, false);
    REQUIRE(save(runs, 1, "b"));
    runs.end_run(1, false);
    CHECK_FALSE(runs.has_evicted());
    runs.end_other_file(0);
    const std::optional<EvictedRun> evicted = runs.take_evicted();
    REQUIRE(evicted);
    CHECK(evicted->run == 0);
    CHECK(evicted->files == std::vector<KeptFile>{{"a", 0}});
}

TEST_CASE("A run whose tensors were not saved is removed with its other files, and replaces none") {
    KeptRuns runs(1, false);
    REQUIRE(save(runs, 0, "a"));
    runs.end_run(0, false);
    REQUIRE(runs.begin_file(1));
    runs.end_other_file(1);
    runs.end_run(1, false);
    const std::optional<EvictedRun> evicted = runs.take_evicted();
    REQUIRE(evicted);
    CHECK(evicted->run == 1);
    CHECK(evicted->why == WhyEvicted::no_room);
    CHECK_FALSE(runs.take_evicted());
    CHECK(runs.tracked() == 1);
    KeptRuns found(0, true);
    REQUIRE(found.begin_file(0));
    found.end_other_file(0);
    found.end_run(0, false);
    CHECK(found.take_evicted()->run == 0);
}

TEST_CASE("All runs go when nothing faulted, once their files are finished") {
    KeptRuns runs(2, false);
    REQUIRE(save(runs, 0, "a"));
    runs.end_run(0, false);
    REQUIRE(runs.begin_file(1));
    runs.remove_all();
    const std::optional<EvictedRun> first = runs.take_evicted();
    REQUIRE(first);
    CHECK(first->run == 0);
    CHECK(first->why == WhyEvicted::no_fault);
    CHECK_FALSE(runs.take_evicted());
    runs.end_file(1, {"b"});
    const std::optional<EvictedRun> second = runs.take_evicted();
    REQUIRE(second);
    CHECK(second->files == std::vector<KeptFile>{{"b", 0}});
}

TEST_CASE("For a fault a run replaces no other while tensors of it never arrived") {
    for (const bool for_fault : {false, true}) {
        KeptRuns runs(1, false, for_fault);
        REQUIRE(save(runs, 0, "a"));
        runs.end_run(0, false);
        REQUIRE(runs.begin_file(1));
        runs.note_incomplete(1);
        runs.end_file(1, {});
        REQUIRE(save(runs, 1, "b"));
        runs.end_run(1, false);
        CHECK(runs.take_evicted().has_value() == !for_fault);
        // A newer run that is whole replaces both.
        REQUIRE(save(runs, 2, "c"));
        runs.end_run(2, false);
        CHECK(runs.take_evicted()->run == 1);
        CHECK(runs.take_evicted().has_value() == for_fault);
    }
}

}  // namespace aoti_dbg::kept_runs_test
