// Level 1 in a program of many runs that keeps only some of them: the files on disk at exit, and what is
// reported about the rest.
#include <sys/stat.h>

#include <cctype>
#include <set>

#include "tests/preload/saved_files.hpp"
#include "tests/support/catch.hpp"

namespace aoti_dbg::test::saving_runs_test {
namespace {

namespace fs = std::filesystem;

Preloaded runs_of(int runs, Variables variables) {
    variables["AOTI_DBG_LEVEL"] = "1";
    return Preloaded(model_host({"--quiet", "--runs", std::to_string(runs), model_path("cpu")}), variables);
}

/// The number of tensors of one run.
std::size_t in_one_run() {
    static const std::size_t number = saved(runs_of(1, {})).size();
    REQUIRE(number > 30);
    return number;
}

Lines run_folders(const Preloaded& watched) {
    Lines found;
    for (const auto& entry : fs::directory_iterator(watched.out() / "tensors")) {
        if (entry.is_directory()) found.push_back(entry.path().filename().string());
    }
    std::sort(found.begin(), found.end());
    return found;
}

std::size_t empty_folders(const Preloaded& watched) {
    std::size_t count = 0;
    for (const auto& entry : fs::recursive_directory_iterator(watched.out() / "tensors"))
        count += entry.is_directory() && fs::is_empty(entry.path()) ? 1 : 0;
    return count;
}

/// The number before `what` in the coverage line, or 0 if it is missing.
std::size_t said(const Preloaded& watched, const std::string& what) {
    const std::string& text = watched.outcome.err;
    const std::size_t at = text.find(" " + what);
    if (at == std::string::npos) return 0;
    std::size_t begin = at;
    while (begin > 0 && std::isdigit(static_cast<unsigned char>(text[begin - 1])) != 0)
        --begin;
    return std::stoul("0" + text.substr(begin, at - begin));
}

/// A number of an object in the index's last line.
std::size_t ended_with(const Preloaded& watched, const std::string& object, const std::string& name) {
    const std::string end = index_of(watched).back();
    const std::size_t in = end.find("\"" + object + "\":{");
    const std::size_t at = end.find("\"" + name + "\":", in);
    if (in == std::string::npos || at == std::string::npos || at > end.find('}', in)) return 0;
    return std::stoul(end.substr(at + name.size() + 3));
}

std::size_t linked(const Preloaded& watched) {
    std::set<ino_t> contents;
    const Lines all = saved(watched);
    for (const std::string& path : all) {
        struct stat found {};
        REQUIRE(stat((watched.out() / "tensors" / path).c_str(), &found) == 0);
        contents.insert(found.st_ino);
    }
    return all.size() - contents.size();
}

TEST_CASE("Under a small cap the last runs are whole and the index is small, however many runs there were") {
    const Preloaded watched = runs_of(600, {{"AOTI_DBG_KEEP", "last:3"}, {"AOTI_DBG_MAX_BYTES", "2M"}});
    CHECK(watched.outcome.exit_code == 0);
    CHECK(saved(watched).size() == 3 * in_one_run());
    CHECK(run_folders(watched) == Lines{"run0597", "run0598", "run0599"});
    CHECK(empty_folders(watched) == 0);
    CHECK(fs::file_size(watched.out() / "tensors/index.jsonl") < 200'000);
    CHECK_FALSE(contains(watched.outcome.err, "skipped"));
    CHECK_FALSE(contains(watched.outcome.err, "is not saved"));
}

TEST_CASE("The closing line and the index say what is on disk, what was removed and what was not saved") {
    const Preloaded watched = runs_of(50, {{"AOTI_DBG_KEEP", "last:3"}});
    const std::size_t kept = 3 * in_one_run();
    const std::size_t removed = 47 * in_one_run();
    REQUIRE(saved(watched).size() == kept);
    CHECK(said(watched, "tensors saved (") == kept);
    CHECK(said(watched, "linked)") == linked(watched));
    CHECK(said(watched, "removed with older runs") == removed);
    CHECK_FALSE(contains(watched.outcome.err, "not saved"));
    CHECK(ended_with(watched, "counts", "files") == kept);
    CHECK(ended_with(watched, "counts", "linked") == linked(watched));
    CHECK(ended_with(watched, "removed", "older") == removed);
}

TEST_CASE("If no run has a finding nothing is kept, and the closing line says that it was removed") {
    const Preloaded watched = runs_of(50, {{"AOTI_DBG_SAVE_ON", "finding"}});
    CHECK(saved(watched).empty());
    CHECK(run_folders(watched).empty());
    CHECK(contains(watched.outcome.err, "; 0 tensors saved; "));
    CHECK(said(watched, "removed with runs without a finding") == 50 * in_one_run());
    CHECK_FALSE(contains(watched.outcome.err, "not saved"));
    CHECK(ended_with(watched, "counts", "files") == 0);
    CHECK(ended_with(watched, "counts", "bytes") == 0);
    CHECK(ended_with(watched, "removed", "no_finding") == 50 * in_one_run());
}

TEST_CASE("A run that an exception unwound is removed like any other run without a finding") {
    const Preloaded watched(model_host({"--throw", model_path("throwing")}),
                            {{"AOTI_DBG_LEVEL", "1"}, {"AOTI_DBG_SAVE_ON", "finding"}});
    CHECK(contains(watched.outcome.err, "unwound by an exception"));
    CHECK(run_folders(watched).empty());
    CHECK(said(watched, "removed with runs without a finding") > 0);
}

TEST_CASE("Once saving has stopped, every later tensor counts as not saved") {
    const Preloaded watched = runs_of(50, {{"AOTI_DBG_MAX_FILES", "10"}});
    REQUIRE(saved(watched).size() == 10);
    const std::size_t all = 50 * in_one_run();
    CHECK(said(watched, "not saved") == all - 10);
    CHECK(said(watched, "no room") + said(watched, "after saving stopped") == all - 10);
    CHECK(ended_with(watched, "left_out", "no_room") + ended_with(watched, "left_out", "stopped") ==
          all - 10);
}

}  // namespace
}  // namespace aoti_dbg::test::saving_runs_test
