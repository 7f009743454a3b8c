// AOTI_DBG_CHECK=races on the fake CUDA models. Unordered work of two streams is reported with both sides,
// and work that CUDA orders is not. The program runs as it does bare.
#include <csignal>
#include <regex>

#include "tests/preload/cuda_models_fixture.hpp"
#include "tests/support/catch.hpp"

namespace aoti_dbg::test::races_test {
namespace {

#ifdef AOTI_DBG_HAS_FAKE_CUDA

const Variables kRaces = {{"AOTI_DBG_CHECK", "races"}, {"AOTI_DBG_LEVEL", ""}};

Lines unordered(const std::string& what) {
    return {victim_path("unordered"), what, model_path("stats"), model_path("stats_other")};
}

/// The first lines of findings, without streams.
Lines races_in(const Lines& log) {
    static const std::regex stream("stream 0x[0-9a-f]+");
    Lines found = titles(log);
    for (std::string& title : found)
        title = std::regex_replace(title, stream, "stream N");
    return found;
}

/// Runs the victim bare and under the library; the two must behave alike.
Lines races_of(const std::string& what, const Variables& env = kRaces) {
    const Outcome bare = run_bare(unordered(what));
    const Preloaded seen(unordered(what), env);
    CAPTURE(what, bare.err, seen.outcome.err);
    CHECK(bare.exit_code == 0);
    CHECK(seen.outcome.exit_code == 0);
    CHECK(seen.outcome.out == bare.out);
    return races_in(seen.log_lines());
}

std::string race(const std::string& argument, const std::string& kernel, const std::string& other) {
    return kernel + " argument " + argument + ": expected an event or a wait " + other + ", got none";
}

TEST_CASE("Work of two streams that CUDA orders has no race") {
    for (const char* what : {"same_stream", "event", "waits_later", "host", "event_host", "query", "all",
                             "callback", "value", "legacy_only", "contexts_legacy_only", "through_legacy",
                             "graph", "write_value", "copy_home", "readers", "captured"}) {
        CAPTURE(what);
        CHECK(races_of(what).empty());
    }
}

TEST_CASE("A model's own streams have a race only if one does not wait for the other") {
    const Lines program = {victim_path("unordered"), "same_stream", model_path("stats_streams"),
                           model_path("stats_streams")};
    CHECK(titles(Preloaded(program, kRaces).log_lines()).empty());
    Variables unjoined = kRaces;
    unjoined["FAKE_UNJOINED"] = "1";
    const Lines log = Preloaded(program, unjoined).log_lines();
    const Lines races = races_in(log);
    CAPTURE(races);
    CHECK(std::count(races.begin(), races.end(),
                     race("buf1", "triton_poi_fused_gt_arange_1",
                          "after triton_poi_fused_relu_0 (writes it in run 0, call 1, on stream N)")) == 1);
    static const std::regex where("  where      model 0, run 0, call 2, on stream (0x[0-9a-f]+), line .*");
    static const std::regex expected("  expected   .*, on stream (0x[0-9a-f]+)\\)");
    const auto stream_in = [&log](const std::regex& pattern) {
        std::smatch found;
        for (const std::string& line : log) {
            if (std::regex_match(line, found, pattern)) return found.str(1);
        }
        return std::string("none");
    };
    CHECK(stream_in(where) != "none");
    CHECK(stream_in(expected) != "none");
    CHECK(stream_in(where) != stream_in(expected));
}

TEST_CASE("A program's write to an input during its read is reported at the argument that reads it") {
    const auto of_input = [](const std::string& other) {
        return Lines{race("arg2_1", "triton_poi_fused_sqrt_2", other)};
    };
    CHECK(races_of("upload") == of_input("before cuMemcpyHtoDAsync (writes it on stream N)"));
    CHECK(races_of("copy") == of_input("before cuMemcpyDtoDAsync (writes it on stream N)"));
    CHECK(races_of("set") == of_input("before cuMemsetD32Async (writes it on stream N)"));
    CHECK(races_of("set_2d") == of_input("before cuMemsetD2D8Async (writes it on stream N)"));
    CHECK(races_of("set_legacy") == of_input("before cuMemsetD8 (writes it on the legacy stream)"));
    CHECK(races_of("free") == of_input("before cuMemFreeAsync (frees it on stream N)"));
}

TEST_CASE("Each call that may read data too early is reported") {
    const std::string upload = "after cuMemcpyHtoDAsync (writes it on stream N)";
    CHECK(races_of("early_upload") == Lines{race("arg2_1", "aoti_torch_cuda_addmm_out", upload),
                                            race("arg2_1", "triton_poi_fused_sqrt_2", upload)});
}

TEST_CASE("An output that is copied out too early is reported at its last known writer") {
    CHECK(races_of("fetch") ==
          Lines{race("buf6", "add_kernel_0", "before cuMemcpyDtoHAsync (reads it on stream N)")});
}

TEST_CASE("A race of two models has the names that each model gives the memory") {
    const std::string writer =
        "after add_kernel_0 (may write it as buf6 in run 1, call 5 of model 0, on stream N)";
    CHECK(races_of("chain") == Lines{race("arg2_1", "aoti_torch_cuda_addmm_out", writer),
                                     race("arg2_1", "triton_poi_fused_sqrt_2", writer)});
}

TEST_CASE("A copy into pinned memory does not count as a wait of the host") {
    CHECK(races_of("copy_pinned") == races_of("upload"));
}

TEST_CASE("Each operation that an argument races with is reported once") {
    const std::string set = "before cuMemsetD8Async (writes it on stream N)";
    const Lines upload = races_of("upload");
    REQUIRE(upload.size() == 1);
    CHECK(races_of("twice") == Lines{upload[0], race("arg2_1", "triton_poi_fused_sqrt_2", set)});
}

TEST_CASE("At raise a run that reads too early fails, and none fails if the race is found after it") {
    const auto ended = [](const char* what, const char* how) {
        return Preloaded(unordered(what),
                         {{"AOTI_DBG_CHECK", "races"}, {"AOTI_DBG_LEVEL", ""}, {"AOTI_DBG_ON_FINDING", how}})
            .outcome;
    };
    CHECK(ended("early_upload", "raise").out == "run: 0\nrun: 1\nthen: 0\n");
    CHECK(ended("twice", "raise").out == "run: 0\nrun: 0\nrun: 0\nthen: 0\n");
    CHECK(ended("upload", "abort").signal == SIGABRT);
}

TEST_CASE("Streams that come and go use no room, and too many at once end the check with a message") {
    CHECK(races_of("come_and_go").size() == 1);
    const Preloaded seen(unordered("too_many"), kRaces);
    CAPTURE(seen.outcome.err);
    CHECK(seen.outcome.out == run_bare(unordered("too_many")).out);
    CHECK(races_in(seen.log_lines()).empty());
    CHECK(
        contains(seen.outcome.err, "more than 256 streams are in use at a time. The check for races stops"));
}

TEST_CASE("Programs with all kinds of streams, several threads and a graph have no false race") {
    for (const Lines& options :
         {Lines{"--runs", "5", "--threads", "3"},
          Lines{"--runs", "3", "--threads", "4", "--streams", "legacy,blocking,nonblocking,per_thread"},
          Lines{"--weights"}, Lines{"--threads", "3", "--capture", "--streams", "nonblocking"}}) {
        const Preloaded seen(cuda_models(options, {"stats", "stats_other"}), kRaces);
        CAPTURE(options, seen.outcome.err);
        CHECK(seen.outcome.exit_code == 0);
        CHECK(seen.outcome.out == run_bare(cuda_models(options, {"stats", "stats_other"})).out);
        CHECK(races_in(seen.log_lines()).empty());
    }
}

TEST_CASE("The races check runs where it is requested, with any other option") {
    const std::string reported =
        race("arg2_1", "triton_poi_fused_sqrt_2", "before cuMemcpyHtoDAsync (writes it on stream N)");
    CHECK(races_of("upload", {{"AOTI_DBG_TRIAGE", "1"}, {"AOTI_DBG_LEVEL", ""}}).empty());
    CHECK(races_of("upload", {{"AOTI_DBG_CHECK", "args"}, {"AOTI_DBG_LEVEL", ""}}).empty());
    for (const char* level : {"2", "3", ""}) {
        CAPTURE(level);
        CHECK(races_of("upload", {{"AOTI_DBG_CHECK", "nan,args,races"}, {"AOTI_DBG_LEVEL", level}}) ==
              Lines{reported});
    }
    // The selection of printed calls does not matter.
    CHECK(races_of("upload", {{"AOTI_DBG_CHECK", "races"}, {"AOTI_DBG_KERNELS", "nothing"}}) ==
          Lines{reported});
    CHECK(races_of("upload", {{"AOTI_DBG_CHECK", "races"},
                              {"AOTI_DBG_SUPPRESS", "races in triton_poi_fused_sqrt_2 - arg2_1"}})
              .empty());
}

#endif

}  // namespace
}  // namespace aoti_dbg::test::races_test
