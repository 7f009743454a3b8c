// Between the selected runs of a server, the library inspects no calls. What it says about selected runs must
// equal what it says when all runs are selected.
#include "tests/preload/stats_records.hpp"
#include "tests/support/catch.hpp"

namespace aoti_dbg::test::skipped_runs_test {
namespace {

std::string text_of(const Record& record) {
    std::string text = record.title;
    for (const auto& [name, value] : record.fields)
        text += "\n" + name + ": " + value;
    return text;
}

Lines texts_of(const Preloaded& watched) {
    Lines texts;
    for (const Record& record : records(watched))
        texts.push_back(text_of(record));
    return texts;
}

TEST_CASE("Every tenth run has its lines, and the others are skipped") {
    const Lines argv = model_host({"--runs", "50", model_path("cpu")});
    const Preloaded watched(argv, {{"AOTI_DBG_RUNS", "::10"}});
    CHECK(watched.log_lines() == times(5, log_of(kOneRun)));
    CHECK(watched.outcome.out == run_bare(argv).out);
    CHECK(contains(watched.outcome.err, "50 runs, 70 calls; 70 printed; 45 runs skipped"));
}

TEST_CASE("A skipped run that an exception unwinds leaves the next selected run complete") {
    const Lines argv = model_host({"--throw", "--error", "--runs", "4", model_path("cpu")});
    const Preloaded everything(argv);
    const Preloaded watched(argv, {{"AOTI_DBG_RUNS", "3:"}});
    CHECK(watched.log_lines() == times(4, log_of(kOneRun)));
    CHECK(watched.outcome.out == everything.outcome.out);
}

TEST_CASE("Threads that skip at the same time miss no selected run") {
    const Lines argv = model_host({"--threads", "4", "--runs", "25", model_path("cpu")});
    const Preloaded watched(argv, {{"AOTI_DBG_RUNS", "1::2"}});
    CHECK(watched.log_lines().size() == times(50, log_of(kOneRun)).size());
    CHECK(watched.outcome.out == run_bare(argv).out);
}

TEST_CASE("With an option that must follow every call, no run is skipped") {
    const Lines argv = model_host({"--runs", "10", model_path("cpu")});
    for (const Variables& options :
         {Variables{{"AOTI_DBG_TRIAGE", "1"}}, Variables{{"AOTI_DBG_HANG", "60"}},
          Variables{{"AOTI_DBG_TIMELINE", "1"}}, Variables{{"AOTI_DBG_CHECK", "args"}},
          Variables{{"AOTI_DBG_CHECK", "races"}}, Variables{{"AOTI_DBG_SCOPE", "all"}}}) {
        Variables all = options;
        all["AOTI_DBG_RUNS"] = "::5";
        const Preloaded watched(argv, all);
        CAPTURE(options.begin()->first, watched.outcome.err);
        CHECK_FALSE(contains(watched.outcome.err, "runs skipped"));
        CHECK(contains(watched.outcome.err, "10 runs, "));
    }
}

#ifdef AOTI_DBG_HAS_FAKE_CUDA
TEST_CASE("Statistics of selected runs do not depend on skipped ones, with new weights or folded ones") {
    // Four runs, new weights, four runs.
    for (const char* variant : {"stats", "stats_folding"}) {
        const Lines argv = cuda_models(
            {"--weights", "--runs", "4", "--negative", "0", "--streams", "nonblocking"}, {variant});
        const Lines all = texts_of(Preloaded(argv, kLevel2));
        for (const auto& [window, selected] : std::vector<std::pair<std::string, std::vector<std::size_t>>>{
                 {"::3", {0, 3, 6}}, {"5:", {5, 6, 7}}, {"2:5:2", {2, 4}}, {"7", {7}}}) {
            const Preloaded watched(argv, with({{"AOTI_DBG_RUNS", window}}));
            CAPTURE(variant, window, watched.outcome.err);
            CHECK(texts_of(watched) == part_of(all, 8, selected));
            CHECK(contains(watched.outcome.err, "skipped"));
        }
    }
}

TEST_CASE("A thread that skips a run launches what another thread measures before that can change") {
    const Lines argv =
        cuda_models({"--threads", "4", "--runs", "12", "--negative", "0", "--streams", "legacy"}, {"stats"});
    // Before a call, an output may hold what any thread left there.
    const auto results = [](const Preloaded& run) {
        Lines texts;
        for (const Record& record : records(run))
            if (record.title.rfind("after_launch", 0) == 0)
                texts.push_back(record.title + " " + record.field("Max value") + " " +
                                record.field("Mean value"));
        std::sort(texts.begin(), texts.end());
        return texts;
    };
    const Lines all = results(Preloaded(argv, with({{"AOTI_DBG_REUSE", "off"}})));
    const Preloaded watched(argv, with({{"AOTI_DBG_RUNS", "::3"}}));
    const Lines some = results(watched);
    CAPTURE(watched.outcome.err);
    CHECK(some.size() == all.size() / 3);
    CHECK(std::includes(all.begin(), all.end(), some.begin(), some.end()));
}

TEST_CASE("Skipped runs skip launches through every entry point of the driver") {
    const Lines argv =
        cuda_models({"--runs", "9", "--negative", "0", "--streams", "per_thread"}, {"stats_streams"});
    const Lines all = texts_of(Preloaded(argv, kLevel2));
    const Preloaded watched(argv, with({{"AOTI_DBG_RUNS", "::4"}}));
    CHECK(texts_of(watched) == part_of(all, 9, {0, 4, 8}));
    CHECK(watched.outcome.out == run_bare(argv).out);
}
#endif

}  // namespace
}  // namespace aoti_dbg::test::skipped_runs_test
