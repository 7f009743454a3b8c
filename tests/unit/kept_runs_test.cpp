// Which runs stay: what is under way first.
#include "shim/report/kept_runs.hpp"

#include "tests/support/catch.hpp"

using namespace aoti_dbg;

namespace {

bool save(KeptRuns& runs, std::uint32_t run, const std::string& path) {
    if (!runs.begin_file(run)) return false;
    runs.end_file(run, path);
    return true;
}

}  // namespace

TEST_CASE("A run does not go before the last of its files is finished, and then with that one") {
    KeptRuns runs(1, false);
    REQUIRE(runs.begin_file(0));
    REQUIRE(runs.begin_file(0));
    runs.end_file(0, "a");
    REQUIRE(save(runs, 1, "b"));
    CHECK(runs.is_going(0));
    CHECK_FALSE(runs.is_going(1));
    CHECK_FALSE(runs.has_evicted());
    CHECK_FALSE(runs.take_evicted());
    runs.end_file(0, "late");
    REQUIRE(runs.has_evicted());
    const std::optional<EvictedRun> evicted = runs.take_evicted();
    REQUIRE(evicted);
    CHECK(evicted->run == 0);
    CHECK(evicted->why == WhyEvicted::older);
    CHECK(evicted->files == std::vector<std::string>{"a", "late"});
    CHECK_FALSE(runs.take_evicted());
}

TEST_CASE("A run that went while it was running gets no more files, until its end is told") {
    KeptRuns runs(1, false);
    REQUIRE(save(runs, 0, "a"));
    REQUIRE(save(runs, 1, "b"));
    REQUIRE(runs.take_evicted());
    CHECK_FALSE(runs.begin_file(0));
    runs.end_run(0, false);
    CHECK_FALSE(runs.has_evicted());
    CHECK_FALSE(runs.is_going(0));
}

TEST_CASE("The last runs are kept, the present one counted") {
    KeptRuns runs(2, false);
    for (std::uint32_t run = 0; run < 10; ++run) {
        REQUIRE(save(runs, run, "run" + std::to_string(run)));
        runs.end_run(run, false);
        const std::optional<EvictedRun> evicted = runs.take_evicted();
        CHECK(evicted.has_value() == (run >= 2));
        if (evicted) CHECK(evicted->run == run - 2);
    }
}

TEST_CASE("With findings alone a run goes at its end unless it had one, and does not count before") {
    KeptRuns runs(1, true);
    REQUIRE(save(runs, 0, "a"));
    runs.end_run(0, true);
    REQUIRE(save(runs, 1, "b"));
    CHECK_FALSE(runs.has_evicted());  // run 0 stays while nothing is known of run 1
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

TEST_CASE("At the cap the oldest run goes, but never the one that asks, and without a window none") {
    KeptRuns runs(5, false);
    REQUIRE(save(runs, 3, "a"));
    CHECK_FALSE(runs.let_oldest_go(3));
    REQUIRE(save(runs, 4, "b"));
    CHECK(runs.let_oldest_go(4));
    const std::optional<EvictedRun> evicted = runs.take_evicted();
    REQUIRE(evicted);
    CHECK(evicted->run == 3);
    CHECK(evicted->why == WhyEvicted::no_room);
    CHECK_FALSE(runs.let_oldest_go(4));
    KeptRuns all(0, true);
    REQUIRE(save(all, 0, "a"));
    all.end_run(0, true);
    CHECK_FALSE(all.let_oldest_go(1));
}

TEST_CASE("What is in no run stays, and a file that does not stand is none that goes") {
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

TEST_CASE("Where all runs stay nothing is kept account of") {
    KeptRuns runs(0, false);
    CHECK_FALSE(runs.any_may_go());
    CHECK(save(runs, 0, "a"));
    runs.end_run(0, false);
    CHECK_FALSE(runs.has_evicted());
}
