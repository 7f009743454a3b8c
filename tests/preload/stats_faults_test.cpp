// Level 2 with obstacles: a death inside a call, a slow log reader, a slow device, no thread to create. The
// program continues as it would, and missing results are reported and counted.
#include <cstdlib>

#include "tests/preload/stats_records.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/places.hpp"

namespace aoti_dbg::test::stats_faults_test {
namespace {

constexpr std::size_t kSidesOfRun = 14;  // six calls, plus the run's inputs and outputs

/// Compares with a bare run on the same fakes.
void check_unharmed(const Lines& argv, const Variables& env, const Outcome& watched) {
    const Outcome bare = run_bare(argv, env);
    CHECK(watched.out == bare.out);
    CHECK(watched.exit_code == bare.exit_code);
    CHECK(watched.signal == bare.signal);
}

/// The titles of the log of a process that died inside launch `number`, counted from 1.
Lines titles_until(std::size_t number) {
    Lines titles;
    for (std::size_t run = 0; run <= (number - 1) / kCudaTensors.size(); ++run) {
        titles.emplace_back("aoti_model_inputs - arg2_1");
        for (std::size_t i = 0; i < kCudaTensors.size(); ++i) {
            const std::size_t launch = run * kCudaTensors.size() + i + 1;
            if (launch > number) return titles;
            for (const std::string& tensor : kCudaTensors[i].second)
                titles.push_back("before_launch - " + kCudaTensors[i].first + " - " + tensor);
            if (launch == number) return titles;
            for (const std::string& tensor : kCudaTensors[i].second)
                titles.push_back("after_launch - " + kCudaTensors[i].first + " - " + tensor);
        }
    }
    return titles;
}

std::uint64_t number_behind(const std::string& text, const std::string& name) {
    const std::size_t at = text.find(name);
    return at == std::string::npos ? 0 : std::strtoull(text.c_str() + at + name.size(), nullptr, 10);
}

std::size_t times_said(const std::string& text, const std::string& what) {
    std::size_t count = 0;
    for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1))
        ++count;
    return count;
}

TEST_CASE("With AOTI_DBG_SYNC, after a death inside launch N the log ends with the whole before side of N") {
    for (const char* how : {"0", "6", "9"}) {
        for (const std::size_t number : {1, 2, 6, 7, 15}) {
            for (const char* delay : {"0", "2000"}) {
                const Lines argv = cuda_models({"--runs", "3", "--streams", "nonblocking"}, {"stats"});
                const Variables fakes = {{"FAKE_CUDA_DIE_AT", std::to_string(number)},
                                         {"FAKE_CUDA_DIE_BY", how},
                                         {"FAKE_CUDA_DELAY_US", delay}};
                Variables env = with(fakes);
                env["AOTI_DBG_SYNC"] = "1";
                const Preloaded watched(argv, env);
                CAPTURE(how, number, delay, watched.outcome.err);
                check_unharmed(argv, fakes, watched.outcome);
                const std::vector<Record> all = records(watched);
                CHECK(titles_of(all) == titles_until(number));
                for (const Record& record : all) {
                    CAPTURE(record.title);
                    CHECK_FALSE(record.field("Mean value").empty());
                    CHECK(record.field("Not measured").empty());
                }
                const Lines events = event_lines(watched.out());
                CHECK(are_whole(events));
                CHECK(ended_normally(events) == (std::string(how) == "0"));
                CHECK(shown_text(watched.out()) == watched.log_lines());
            }
        }
    }
}

TEST_CASE("With a slow log reader and waiting allowed, nothing is lost and one message says so") {
    constexpr std::size_t kRuns = 1200;
    const Lines argv = {victim_path("cuda_lives"), "late", "stall", std::to_string(kRuns),
                        model_path("stats")};
    const Preloaded watched(argv, with({{"AOTI_DBG_LOG", "stderr"}, {"AOTI_DBG_FORMAT", "compact"}}));
    check_unharmed(argv, {}, watched.outcome);
    CHECK(times_said(watched.outcome.err, "results arrive faster than they can be written") == 1);
    const Lines events = event_lines(watched.out());
    CHECK(are_whole(events));
    REQUIRE(ended_normally(events));
    CHECK(count_of_calls(events) == kRuns * kSidesOfRun);
    CHECK(number_behind(events.back(), "\"not_measured_for_want_of_room\":") == 0);
    const auto unmeasured = std::count_if(events.begin(), events.end(), [](const std::string& line) {
        return contains(line, "\"measured\":");
    });
    CHECK(unmeasured == 0);
}

TEST_CASE("If the model must not wait, lost results are counted in the events and in the closing line") {
    constexpr std::size_t kRuns = 1200;
    const Lines argv = {victim_path("cuda_lives"), "late", "end", std::to_string(kRuns), model_path("stats")};
    const Preloaded watched(
        argv,
        with({{"AOTI_DBG_LOG", "stderr"}, {"AOTI_DBG_FORMAT", "compact"}, {"AOTI_DBG_ON_FULL", "drop"}}));
    check_unharmed(argv, {}, watched.outcome);
    const Lines events = event_lines(watched.out());
    CHECK(are_whole(events));
    REQUIRE(ended_normally(events));
    const std::uint64_t lost = number_behind(events.back(), "\"not_measured_for_want_of_room\":");
    CHECK(lost > 0);
    CHECK(count_of_calls(events) + lost == kRuns * kSidesOfRun);
    CHECK(contains(watched.outcome.err, "; " + std::to_string(lost) + " not measured (queue full)"));
}

TEST_CASE("If the device is too slow for raise to fail the run, the run succeeds and one message says so") {
    const Lines argv = cuda_models({"--runs", "1", "--streams", "nonblocking"}, {"stats"});
    // The program's six kernels alone take more than ten seconds.
    const Variables slow = {{"FAKE_CUDA_DELAY_US", "1800000"}};
    Variables env = with(slow);
    env["AOTI_DBG_ON_FINDING"] = "raise";
    const Preloaded watched(argv, env);
    check_unharmed(argv, {}, watched.outcome);
    CHECK(contains(watched.outcome.out, "thread 0: "));
    CHECK(times_said(watched.outcome.err, " warn: ") == 1);
    CHECK(times_said(watched.outcome.err, "some results of run 0 did not arrive") == 1);
    CHECK(contains(watched.outcome.err, "1 finding"));
}

TEST_CASE(
    "Where no thread can be created, names are printed, one message says so, and the program is unharmed") {
    if (kSanitized) return;  // the sanitizer's runtime creates the threads
    const Lines argv = cuda_models({"--runs", "2", "--threads", "2", "--streams", "nonblocking,legacy"},
                                   {"stats", "stats_other"});
    const TempFolder folder;
    const std::string log = (folder.path() / "log").string();
    Variables env = with({{"AOTI_DBG_LOG", log}, {"AOTI_DBG_OUT", (folder.path() / "out").string()}});
    env["LD_PRELOAD"] = preload_value() + ":" + places::kNoThreads;
    const Outcome watched = run_program(argv, env);
    CAPTURE(watched.err);
    check_unharmed(argv, {}, watched);
    CHECK(times_said(watched.err, " warn: ") == 1);
    CHECK(times_said(watched.err, "cannot create the thread that waits for the device") == 1);
    const Lines lines = lines_of(read_text(log));
    for (const std::string& kernel : kCudaRun) {
        CAPTURE(kernel);
        CHECK(std::count(lines.begin(), lines.end(), before(kernel)) == 4);
        CHECK(std::count(lines.begin(), lines.end(), after(kernel)) == 4);
    }
    CHECK(ended_normally(event_lines(folder.path() / "out")));
}

}  // namespace
}  // namespace aoti_dbg::test::stats_faults_test
