// Level 1 on CUDA models. Programs that fault, die, fork, capture or lose contexts behave as they do bare and
// leave only whole files. The files agree with the measurements of level 2.
#include <map>

#include "serializer/json_line.hpp"
#include "serializer/pt_reader.hpp"
#include "stats_kernels/cpu_statistics.hpp"
#include "tests/preload/cuda_models_fixture.hpp"
#include "tests/preload/saved_files.hpp"

namespace aoti_dbg::test::saving_cuda_test {
namespace {

namespace fs = std::filesystem;

// Of the fake model, with its inputs and outputs.
constexpr std::size_t kTensorsOfRun = 36;

Variables level_1(Variables more) {
    more.insert({{"AOTI_DBG_LEVEL", "1"}, {"FAKE_CUDA_EXPLAIN", "1"}});
    return more;
}

void check_unharmed(const Lines& argv, const Variables& fakes, const Outcome& watched) {
    const Outcome bare = run_bare(argv, fakes);
    CHECK(watched.out == bare.out);
    CHECK(watched.exit_code == bare.exit_code);
    CHECK(watched.signal == bare.signal);
    CHECK_FALSE(contains(watched.err, "fake_cuda:"));
    CHECK_FALSE(watched.timed_out);
}

Result<PtView> read(const std::string& text) {
    return read_pt(std::as_bytes(std::span(text)));
}

/// Checks that every file of the folder can be read, and that the index names exactly those.
void check_files(const fs::path& tensors) {
    Lines found = files_below(tensors);
    found.erase(std::remove(found.begin(), found.end(), "index.jsonl"), found.end());
    for (const std::string& path : found) {
        if (!read(read_text(tensors / path)).ok()) FAIL_CHECK(path << " is torn");
    }
    Lines named;
    for (const std::string& line : lines_of(read_text(tensors / "index.jsonl"))) {
        if (member(line, "event") == "file") named.push_back(member(line, "path"));
    }
    std::sort(named.begin(), named.end());
    CHECK(found == named);
}

std::string how_it_ended(const fs::path& tensors) {
    const Lines index = lines_of(read_text(tensors / "index.jsonl"));
    return index.empty() ? "" : member(index.back(), "how");
}

/// "run/call/side/label" of an argument.
std::string place_of(const JsonLine::Value& of, const JsonLine::Value& argument) {
    return std::string(of.member("run").text()) + "/" + std::string(of.member("call").text()) + "/" +
           std::string(of.member("side").text()) + "/" + std::string(argument.member("label").text());
}

/// The hash of each tensor's elements as level 2 reports it, by place.
std::map<std::string, std::string> measured_hashes(const fs::path& out) {
    std::map<std::string, std::string> found;
    JsonLine line;
    for (const std::string& text : lines_of(read_text(out / "events.jsonl"))) {
        if (!line.parse(text) || line.root().member("event").text() != "call") continue;
        for (JsonLine::Value argument = line.root().member("arguments").first(); argument;
             argument = argument.next())
            found[place_of(line.root(), argument)] = argument.member("hash").text();
    }
    return found;
}

/// The hash of the elements in a file.
std::string hash_of(const PtView& saved) {
    const std::uint64_t offset = static_cast<std::uint64_t>(saved.storage_offset) * element_size(saved.dtype);
    const TensorView view = {saved.storage.data() + offset, saved.dtype, saved.sizes, saved.strides};
    const std::uint64_t count = element_count(saved.sizes);
    const TensorStatistics statistics =
        finish(measure_range(view, Requested::hash, 0, count), view, Requested::hash);
    char text[17];
    std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(statistics.hash));
    return text;
}

TEST_CASE("CUDA tensors are saved under the names that PyTorch documents, and nothing is printed") {
    const Lines argv = cuda_models({"--runs", "2"}, {"stats"});
    const Preloaded watched(argv, level_1({}));
    check_unharmed(argv, {}, watched.outcome);
    check_whole(watched);
    const Lines all = saved(watched);
    for (const char* run : {"run0000/", "run0001/"}) {
        CHECK(of_call(all, run + std::string("call0001")) ==
              Lines{"after_launch_triton_poi_fused_relu_0_buf1_cuda:0.pt",
                    "after_launch_triton_poi_fused_relu_0_l1_bias_cuda:0.pt",
                    "before_launch_triton_poi_fused_relu_0_buf1_cuda:0.pt",
                    "before_launch_triton_poi_fused_relu_0_l1_bias_cuda:0.pt"});
        CHECK(of_call(all, run + std::string("inputs")) == Lines{"aoti_model_inputs_arg2_1_cuda:0.pt"});
        CHECK(of_call(all, run + std::string("outputs")).size() == 3);
    }
    CHECK(all.size() == 2 * kTensorsOfRun);
    CHECK(watched.log_lines() == Lines{});
}

TEST_CASE("The files agree with the level-2 measurements of the same tensors") {
    for (const Lines& argv :
         {cuda_models({"--runs", "4"}, {"stats"}),
          cuda_models({"--runs", "4", "--streams", "per_thread", "--context"}, {"stats", "stats_other"}),
          cuda_models(
              {"--threads", "4", "--runs", "10", "--streams", "legacy,nonblocking,blocking,per_thread"},
              {"stats", "stats_other"})}) {
        const Variables fakes = {{"FAKE_CUDA_DELAY_US", "100"}};
        Variables env = level_1(fakes);
        env["AOTI_DBG_LEVEL"] = "stats,files";
        env["AOTI_DBG_STATS"] = "full";
        const Preloaded watched(argv, env);
        CAPTURE(argv, watched.outcome.err);
        check_unharmed(argv, fakes, watched.outcome);
        std::map<std::string, std::string> expected = measured_hashes(watched.out());
        std::size_t compared = 0;
        JsonLine line;
        for (const std::string& text : index_of(watched)) {
            if (!line.parse(text) || line.root().member("event").text() != "file") continue;
            const std::string content =
                read_text(watched.out() / "tensors" / std::string(line.root().member("path").text()));
            const Result<PtView> view = read(content);
            REQUIRE(view.ok());
            CAPTURE(text);
            CHECK(hash_of(view.value()) == expected[place_of(line.root(), line.root())]);
            ++compared;
        }
        CHECK(compared >= 4 * kTensorsOfRun);
        CHECK(compared % kTensorsOfRun == 0);
    }
}

TEST_CASE("A fault in the program's own kernel keeps what was saved before it, and leaves no torn file") {
    for (const char* launch : {"1", "3", "9"}) {
        const Lines argv = cuda_models({"--runs", "4", "--streams", "nonblocking"}, {"stats"});
        const Variables fakes = {{"FAKE_CUDA_FAIL_AT", launch}};
        const Preloaded watched(argv, level_1(fakes));
        CAPTURE(launch, watched.outcome.err);
        REQUIRE(contains(watched.outcome.out, "the device faulted"));
        check_unharmed(argv, fakes, watched.outcome);
        check_files(watched.out() / "tensors");
        CHECK(how_it_ended(watched.out() / "tensors") == "complete");
        CHECK_FALSE(of_call(saved(watched), "run0000/inputs").empty());
        CHECK(saved(watched).size() < 4 * kTensorsOfRun);
    }
}

TEST_CASE("With AOTI_DBG_SYNC all tensors before a death inside a launch are on disk") {
    for (const char* how : {"0", "6", "9"}) {
        const Lines argv = cuda_models({"--runs", "3", "--streams", "nonblocking"}, {"stats"});
        // The fourth launch is that of call 3, because call 0 also launches a kernel.
        const Variables fakes = {
            {"FAKE_CUDA_DIE_AT", "4"}, {"FAKE_CUDA_DIE_BY", how}, {"FAKE_CUDA_DELAY_US", "2000"}};
        Variables env = level_1(fakes);
        env["AOTI_DBG_SYNC"] = "1";
        const Preloaded watched(argv, env);
        CAPTURE(how, watched.outcome.err);
        check_unharmed(argv, fakes, watched.outcome);
        check_files(watched.out() / "tensors");
        const Lines all = saved(watched);
        CHECK(of_call(all, "run0000/call0002").size() == 6);
        CHECK(of_call(all, "run0000/call0003") ==
              Lines{"before_launch_triton_poi_fused_sqrt_2_arg2_1_cuda:0.pt",
                    "before_launch_triton_poi_fused_sqrt_2_buf4_cuda:0.pt"});
        CHECK(of_call(all, "run0000/call0004").empty());
    }
}

TEST_CASE("A context destroyed between or during runs does no harm, and its successor's tensors are saved") {
    for (const char* how : {"reset", "destroy", "release", "reset_running", "destroy_running"}) {
        for (const Variables& fakes : {Variables{}, Variables{{"FAKE_CUDA_DELAY_US", "20000"}},
                                       Variables{{"FAKE_CUDA_INLINE", "1"}}}) {
            const Lines argv = {victim_path("cuda_lives"), how, model_path("stats")};
            const Preloaded watched(argv, level_1(fakes));
            CAPTURE(how, fakes, watched.outcome.err);
            check_unharmed(argv, fakes, watched.outcome);
            check_files(watched.out() / "tensors");
            CHECK(how_it_ended(watched.out() / "tensors") == "complete");
            if (std::string(how) != "release") CHECK(saved(watched).size() == 6 * kTensorsOfRun);
        }
    }
}

TEST_CASE("A fork during saving leaves the parent saving, whatever the child does") {
    if (!kChildrenCanAllocate) return;
    for (const char* how : {"exit", "_exit", "exec", "abort", "cpu", "cpu_exit"}) {
        const Variables fakes = {{"FAKE_CUDA_DELAY_US", "500"}};
        const Lines argv = {victim_path("cuda_lives"), "fork", how, model_path("stats"), model_path("cpu")};
        const Preloaded watched(argv, level_1(fakes));
        CAPTURE(how, watched.outcome.err);
        check_unharmed(argv, fakes, watched.outcome);
        for (const fs::path& folder : folders_of_tensors(watched.out()))
            check_files(folder);
        CHECK(how_it_ended(watched.out() / "tensors") == "complete");
        CHECK(saved(watched).size() > 6 * kTensorsOfRun);
    }
}

TEST_CASE("Captured calls and tensors that the driver refuses to copy appear in the log by name only") {
    const Lines captures =
        cuda_models({"--threads", "3", "--capture", "--streams", "nonblocking,legacy,nonblocking"},
                    {"stats", "stats_other"});
    const Preloaded captured(captures, level_1({}));
    check_unharmed(captures, {}, captured.outcome);
    check_files(captured.out() / "tensors");
    CHECK(contains(captured.outcome.err, "Its calls are not measured or saved"));
    CHECK_FALSE(saved(captured).empty());
    CHECK(contains(read_text(captured.log()), "[ before_launch: triton_poi_fused_relu_0 ]"));

    for (const Variables& fakes :
         {Variables{{"FAKE_CUDA_REFUSE", "aoti_dbg_save"}}, Variables{{"FAKE_CUDA_NO_FATBIN", "1"}}}) {
        const Lines argv = cuda_models({"--runs", "3"}, {"stats"});
        const Preloaded refused(argv, level_1(fakes));
        CAPTURE(fakes, refused.outcome.err);
        check_unharmed(argv, fakes, refused.outcome);
        check_files(refused.out() / "tensors");
        CHECK(saved(refused).empty());
        CHECK(contains(refused.outcome.err, "ames are printed instead (level 3)."));
        CHECK(contains(read_text(refused.log()), "[ before_launch: triton_poi_fused_relu_0 ]"));
    }
}

TEST_CASE(
    "A staging buffer that is far too small makes the model wait, or drops tensors if it must not wait") {
    const Lines argv = cuda_models({"--threads", "4", "--runs", "10", "--streams", "nonblocking"}, {"stats"});
    const Variables fakes = {{"FAKE_CUDA_DELAY_US", "300"}};
    Variables env = level_1(fakes);
    env["AOTI_DBG_STAGING"] = "1MiB";
    env["AOTI_DBG_WRITERS"] = "1";
    const Preloaded waits(argv, env);
    CAPTURE(waits.outcome.err);
    check_unharmed(argv, fakes, waits.outcome);
    check_files(waits.out() / "tensors");
    CHECK(saved(waits).size() == 40 * kTensorsOfRun);
    env["AOTI_DBG_ON_FULL"] = "drop";
    const Preloaded drops(argv, env);
    check_unharmed(argv, fakes, drops.outcome);
    check_files(drops.out() / "tensors");
    CHECK(how_it_ended(drops.out() / "tensors") == "complete");
}

}  // namespace
}  // namespace aoti_dbg::test::saving_cuda_test
