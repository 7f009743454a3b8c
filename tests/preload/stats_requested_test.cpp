// What makes level 2 measure on CUDA apart from the level itself: a rule of the configuration file, or
// findings alone. The log has only what was requested, and the program computes the same as bare.
#include "tests/preload/stats_records.hpp"
#include "tests/support/catch.hpp"

namespace aoti_dbg::test::stats_requested_test {
namespace {

const Lines kProgram = cuda_models({"--runs", "2", "--streams", "nonblocking"}, {"stats"});

void check_unharmed(const Preloaded& watched) {
    CAPTURE(watched.outcome.err);
    const Outcome bare = run_bare(kProgram);
    CHECK(watched.outcome.out == bare.out);
    CHECK(watched.outcome.exit_code == bare.exit_code);
    CHECK_FALSE(contains(watched.outcome.err, " warn: "));
}

/// Runs with options from a file.
Preloaded with_file(const TempFolder& folder, const std::string& json) {
    const std::string path = (folder.path() / "options.json").string();
    write_text(path, json);
    // Clears Preloaded's own level, so that the file sets it.
    return Preloaded(kProgram, {{"AOTI_DBG_LEVEL", ""}, {"AOTI_DBG_CONFIG", path}});
}

/// The launch lines and the titles of records, in order.
Lines names_and_titles(const Preloaded& watched) {
    Lines all;
    for (const std::string& line : watched.log_lines()) {
        if (line.rfind("[ before_launch: ", 0) == 0 || line.rfind("[ after_launch: ", 0) == 0) {
            all.push_back(line);
        } else if (line.rfind("[  ", 0) == 0 && ends_with(line, "  ]:")) {
            all.push_back(line.substr(3, line.size() - 3 - 4));
        }
    }
    return all;
}

TEST_CASE("A rule of the file alone has its kernels measured, and no other") {
    const TempFolder folder;
    const Preloaded watched =
        with_file(folder, R"({"level": 0, "rules": [{"kernels": "triton_poi_fused_sqrt_*", "level": 2}]})");
    check_unharmed(watched);
    CHECK(names_and_titles(watched) == times(2, {"before_launch - triton_poi_fused_sqrt_2 - arg2_1",
                                                 "before_launch - triton_poi_fused_sqrt_2 - buf4",
                                                 "after_launch - triton_poi_fused_sqrt_2 - arg2_1",
                                                 "after_launch - triton_poi_fused_sqrt_2 - buf4"}));
    const auto made = with_title(records(watched), "after_launch - triton_poi_fused_sqrt_2 - buf4");
    REQUIRE(made.size() == 2);
    CHECK(made[0].field("NaN/Inf") == "25 NaN, 0 +Inf, 0 -Inf");
    const Lines events = event_lines(watched.out());
    CHECK(are_whole(events));
    CHECK(count_of_calls(events) == 4);
    CHECK(ended_normally(events));
}

TEST_CASE("A rule raises a kernel above the level of the others, and all stay in order") {
    const TempFolder folder;
    const Preloaded watched =
        with_file(folder, R"({"level": 3, "rules": [{"kernels": "add_kernel_0", "level": 2}]})");
    check_unharmed(watched);
    Lines once = log_of(Lines(kCudaRun.begin(), kCudaRun.end() - 1));
    for (const char* when : {"before_launch", "after_launch"}) {
        for (const char* tensor : {"buf5", "buf6"})
            once.push_back(std::string(when) + " - add_kernel_0 - " + tensor);
    }
    CHECK(names_and_titles(watched) == times(2, once));
}

TEST_CASE("A rule that matches nothing measures nothing") {
    const TempFolder folder;
    const Preloaded watched =
        with_file(folder, R"({"level": 0, "rules": [{"kernels": "no such kernel", "level": 2}]})");
    check_unharmed(watched);
    CHECK(watched.log_lines().empty());
    CHECK(count_of_calls(event_lines(watched.out())) == 0);
}

TEST_CASE("Findings alone print only findings, and find what level 2 finds") {
    const Preloaded alone(kProgram, {{"AOTI_DBG_LEVEL", ""}, {"AOTI_DBG_CHECK", "nan,inf"}});
    check_unharmed(alone);
    const Lines lines = alone.log_lines();
    REQUIRE_FALSE(lines.empty());
    CHECK(lines[0] == "[ finding 1: NaN in buf4, first made by triton_poi_fused_sqrt_2 ]");
    CHECK(names_and_titles(alone).empty());
    CHECK(std::count_if(lines.begin(), lines.end(),
                        [](const std::string& line) { return line.rfind("[ finding ", 0) == 0; }) == 1);
    CHECK(contains(alone.outcome.err, "1 finding (1 repeat, 2 followers)"));
    const Lines events = event_lines(alone.out());
    CHECK(are_whole(events));
    CHECK(count_of_calls(events) == 0);
    const auto finding = std::find_if(events.begin(), events.end(), [](const std::string& line) {
        return line.rfind("{\"event\":\"finding\"", 0) == 0;
    });
    REQUIRE(finding != events.end());
    CHECK(contains(*finding, "\"stream\":\"0x"));

    const Preloaded level2(kProgram, kLevel2);
    const Lines all = level2.log_lines();
    CHECK(std::find(all.begin(), all.end(), lines[0]) != all.end());
}

TEST_CASE("Findings are checked only where requested: in a rule's kernels, in selected ones, by the file") {
    const TempFolder folder;
    const auto has_finding = [](const Preloaded& watched) {
        check_unharmed(watched);
        return contains(watched.outcome.err, "1 finding");
    };
    CHECK(has_finding(with_file(folder, R"({"level": 0, "rules": [{"kernels": "*_sqrt_2", "level": 2}]})")));
    CHECK_FALSE(
        has_finding(with_file(folder, R"({"level": 0, "rules": [{"kernels": "*_relu_0", "level": 2}]})")));
    CHECK(has_finding(with_file(folder, R"({"check": "nan", "kernels": "*_sqrt_2"})")));
    CHECK_FALSE(has_finding(with_file(folder, R"({"check": "nan", "kernels": "*_relu_0"})")));
    CHECK_FALSE(has_finding(
        with_file(folder, R"({"check": "none", "level": 0, "rules": [{"kernels": "*", "level": 2}]})")));
}

}  // namespace
}  // namespace aoti_dbg::test::stats_requested_test
