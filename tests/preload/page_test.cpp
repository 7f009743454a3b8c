// `aoti-dbg report --html` of real recordings over the software driver: several processes, findings, captured
// launches, saved tensors, recordings without events, and two recordings.
#include <sys/stat.h>

#include <algorithm>
#include <fstream>

#include "tests/preload/cuda_models_fixture.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/page_data.hpp"
#include "tests/support/places.hpp"

namespace aoti_dbg::test::page_test {
namespace {

namespace fs = std::filesystem;

Outcome report(Lines options) {
    options.insert(options.begin(), {places::kTool, "report", "--html"});
    return run_program(options, {});
}

/// Returns the data of the page that the command writes, and leaves it for the test of its schema.
Json page_of(const fs::path& folder, Lines options = {}) {
    options.push_back(folder.string());
    const Outcome done = report(options);
    CAPTURE(done.err);
    REQUIRE(done.exit_code == 0);
    Json data = data_in(read_text((folder / "report.html").string()));
    REQUIRE(data.is_object());
    fs::remove(folder / "report.html");
    std::ofstream(folder / "page.json") << data.dump();
    return data;
}

std::size_t row_of(const Json& page, const std::string& kernel, std::size_t process = 0) {
    const Lines kernels = kernels_of_rows(page);
    const std::vector<std::int64_t> processes = column(page["rows"]["process"]);
    for (std::size_t row = 0; row < kernels.size(); ++row)
        if (kernels[row] == kernel && processes[row] == static_cast<std::int64_t>(process)) return row;
    FAIL("no row of " << kernel);
    return 0;
}

const Json& detail_of(const Json& page, std::size_t row) {
    return page["details"].at(static_cast<std::size_t>(column(page["rows"]["detail"]).at(row)));
}

const Lines kRows = [] {
    Lines rows = kCudaRun;
    rows.insert(rows.begin(), "aoti_model_inputs");
    rows.push_back("aoti_model_outputs");
    return rows;
}();

TEST_CASE("A page has each call of a model, what it found, and who wrote what") {
    const Preloaded watched(cuda_models({"--runs", "3"}, {"stats"}),
                            {{"AOTI_DBG_LEVEL", "2"}, {"AOTI_DBG_CHECK", "nan"}});
    const Json page = page_of(watched.out());
    CHECK(kernels_of_rows(page) == kRows);
    CHECK(column(page["rows"]["runs"]) == std::vector<std::int64_t>(kRows.size(), 3));
    CHECK(page["verdict"]["state"] == "findings");
    CHECK(page["verdict"]["code"] == "AD1102");
    REQUIRE(page["findings"].size() == 1);
    const Json& finding = page["findings"][0];
    const std::size_t root = row_of(page, "triton_poi_fused_sqrt_2");
    CHECK(finding["row"] == root);
    CHECK(finding["tensor"]["label"] == "buf4");
    CHECK(contains(finding["repeat"],
                   "aoti-dbg run --capture triton_poi_fused_sqrt_2@0:3 -- " + victim_path("cuda_models")));
    CHECK(finding["sentence"].get<std::string>().starts_with(
        "NaN in buf4, first made by triton_poi_fused_sqrt_2 ("));
    // The row shows the run of the finding, the first one.
    CHECK(column(page["rows"]["run"])[root] == 0);
    CHECK((column(page["rows"]["flags"])[root] & 5) == 5);
    const std::size_t sum = row_of(page, "triton_poi_fused_add_3");
    CHECK(detail_of(page, sum)["writers"][1] == root);
    CHECK(detail_of(page, root)["readers"][1][0] == sum);
    CHECK(detail_of(page, root)["series"]["tensors"][0]["side"] == "after");
    // The line is in an excerpt of the wrapper source.
    const auto site = static_cast<std::size_t>(column(page["rows"]["site"])[root]);
    const Json& source = page["sources"].at(static_cast<std::size_t>(column(page["sites"]["source"])[site]));
    const Lines text = lines_of(source["text"]);
    const auto line =
        static_cast<std::size_t>(column(page["sites"]["line"])[site] - source["first_line"].get<int>());
    CHECK(contains(text.at(line), "call_triton_poi_fused_sqrt_2("));
}

TEST_CASE("A page has all processes and ranks, and counts equal findings once") {
    const TempFolder folder;
    const fs::path out = folder.path() / "out";
    for (const char* rank : {"0", "1"}) {
        Lines command = {places::kTool, "run", "--level", "2", "--check", "nan", "--out", out.string(), "--"};
        for (const std::string& word : cuda_models({"--runs", "2"}, {"stats"}))
            command.push_back(word);
        const Outcome done = run_bare(command, {{"LD_LIBRARY_PATH", places::kFakes}, {"RANK", rank}});
        CAPTURE(done.err);
        REQUIRE(done.exit_code == 0);
    }
    const Json page = page_of(out);
    REQUIRE(page["processes"].size() == 2);
    CHECK(page["processes"][0]["rank"] == "0");
    CHECK(page["processes"][1]["rank"] == "1");
    CHECK(page["findings"].size() == 2);
    CHECK(kernels_of_rows(page).size() == 2 * kRows.size());
    CHECK(page["findings"][1]["row"] == row_of(page, "triton_poi_fused_sqrt_2", 1));
    CHECK(page["kernels"][0]["count"] == 4);
}

TEST_CASE("A recording of names alone has calls and times from the ring") {
    const Preloaded watched(cuda_models({"--runs", "2"}, {"stats"}), {{"AOTI_DBG_LEVEL", "3"}});
    const Json page = page_of(watched.out());
    for (const std::string& kernel : kCudaRun) {
        const std::size_t row = row_of(page, kernel);
        CHECK(column(page["rows"]["runs"])[row] == 2);
        CHECK(column(page["rows"]["host_ns"])[row] > 0);
        CHECK(column(page["rows"]["flags"])[row] == 32);
    }
    CHECK(page["verdict"]["state"] == "clean");
    CHECK(!page["processes"][0].contains("notes"));
}

TEST_CASE("A page says how many calls the ring did not have anymore") {
    const Preloaded watched(cuda_models({"--runs", "30"}, {"stats"}),
                            {{"AOTI_DBG_LEVEL", "3"}, {"AOTI_DBG_RING", "64"}});
    const Json page = page_of(watched.out());
    const std::size_t row = row_of(page, kCudaRun.front());
    CHECK(column(page["rows"]["runs"])[row] < 30);
    const std::string note = page["processes"][0]["notes"][0];
    CAPTURE(note);
    CHECK(note.starts_with("the flight recorder ring overwrote "));
    CHECK(contains(note, " older calls"));
}

TEST_CASE("A page links saved tensors and captured launches, and has histograms") {
    const Preloaded watched(
        cuda_models({"--runs", "1"}, {"stats"}),
        {{"AOTI_DBG_LEVEL", "stats,files"}, {"AOTI_DBG_CAPTURE", "triton_*"}, {"AOTI_DBG_CHECK", "nan"}});
    const Json page = page_of(watched.out());
    const std::size_t root = row_of(page, "triton_poi_fused_sqrt_2");
    const Json& detail = detail_of(page, root);
    REQUIRE(detail.contains("files"));
    for (const Json& file : detail["files"]) {
        const fs::path path = file["path"].get<std::string>();
        CHECK(path.is_relative());
        CHECK(fs::exists(watched.out() / path));
    }
    REQUIRE(detail.contains("histograms"));
    const std::vector<std::int64_t> counts = column(detail["histograms"][0]["counts"]);
    CHECK(detail["histograms"][0]["edges"].size() == counts.size() + 1);
    REQUIRE(detail.contains("bundle"));
    CHECK(fs::exists(watched.out() / detail["bundle"].get<std::string>()));
    CHECK(page["findings"][0]["repeat"].get<std::string>().starts_with("aoti-dbg replay "));
    // A page in another folder has other paths, and a confidential one has none.
    const fs::path other = watched.out() / "pages";
    fs::create_directory(other);
    REQUIRE(report({watched.out().string(), "--output", (other / "a.html").string()}).exit_code == 0);
    const Json moved = data_in(read_text((other / "a.html").string()));
    CHECK(detail_of(moved, root)["files"][0]["path"].get<std::string>().starts_with("../tensors/"));
    const Json closed = page_of(watched.out(), {"--confidential"});
    CHECK(!detail_of(closed, root).contains("files"));
    CHECK(!closed["findings"][0].contains("repeat"));
    CHECK(closed.dump().find(watched.out().string()) == std::string::npos);
}

TEST_CASE("A recording of files alone has the statistics of the files") {
    const Preloaded watched(cuda_models({"--runs", "1"}, {"stats"}), {{"AOTI_DBG_LEVEL", "files"}});
    const Json page = page_of(watched.out());
    const std::size_t root = row_of(page, "triton_poi_fused_sqrt_2");
    const Json& after = detail_of(page, root)["after"];
    REQUIRE(!after.empty());
    const Json& written = after.back();
    CHECK(written[2] == "NaN");
    CHECK(written[7] == 25);
    CHECK(column(page["rows"]["flags"])[root] == 1);
    CHECK(column(page["rows"]["flags"])[row_of(page, "triton_poi_fused_relu_0")] == 0);
}

TEST_CASE("The differences of two recordings are on top of the page of the second") {
    const Preloaded first(cuda_models({"--runs", "1"}, {"stats"}),
                          {{"AOTI_DBG_LEVEL", "2"}, {"AOTI_DBG_RECORD", "bits"}});
    const Preloaded second(cuda_models({"--runs", "2"}, {"stats"}),
                           {{"AOTI_DBG_LEVEL", "2"}, {"AOTI_DBG_RECORD", "bits"}});
    const Outcome done = report({first.out().string(), second.out().string()});
    CAPTURE(done.err);
    REQUIRE(done.exit_code == 0);
    const Json page = data_in(read_text((second.out() / "report.html").string()));
    CHECK(page["recorded"]["folder"] == fs::canonical(second.out()).string());
    CHECK(page["diff"]["other"] == first.out().string());
    CHECK(!page["diff"]["text"].get<std::string>().empty());
    CHECK(page["diff"]["sentence"] == "different: 1 run has no counterpart; compared 6 calls in 1 run");
}

TEST_CASE("A page overwrites nothing, and only its owner can read it") {
    const Preloaded watched(cuda_models({"--runs", "1"}, {"stats"}), {{"AOTI_DBG_LEVEL", "2"}});
    REQUIRE(report({watched.out().string()}).exit_code == 0);
    REQUIRE(report({watched.out().string()}).exit_code == 0);
    CHECK(fs::exists(watched.out() / "report.2.html"));
    struct stat info {};
    REQUIRE(stat((watched.out() / "report.html").c_str(), &info) == 0);
    CHECK((info.st_mode & 0777) == 0600);
    const std::string taken = (watched.out() / "report.html").string();
    const Outcome refused = report({watched.out().string(), "--output", taken});
    CHECK(refused.exit_code == 1);
    CHECK(contains(refused.err, "cannot create " + taken + ": file exists. Set --output to a new file."));
    const Outcome nothing = report({(watched.out() / "evidence").string()});
    CHECK(nothing.exit_code == 1);
    CHECK(contains(nothing.err, "no process is recorded in "));
    CHECK(run_program({places::kTool, "report", "--confidential"}, {}).exit_code == 2);
}

}  // namespace
}  // namespace aoti_dbg::test::page_test
