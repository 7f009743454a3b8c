// Level 2 on CUDA across contexts that come and go, forks during measuring, and weights that change. The
// program is unharmed, and everything still alive is measured.

#include "tests/preload/stats_records.hpp"
#include "tests/support/catch.hpp"

namespace fs = std::filesystem;

namespace aoti_dbg::test::stats_lives_test {
namespace {

constexpr std::size_t kLives = 3;
constexpr std::size_t kChildren = 6;

Lines lives(Lines arguments) {
    arguments.insert(arguments.begin(), victim_path("cuda_lives"));
    return arguments;
}

void check_unharmed(const Lines& argv, const Variables& env, const Outcome& watched) {
    const Outcome bare = run_bare(argv, env);
    CHECK(bare.exit_code == 0);
    CHECK(watched.out == bare.out);
    CHECK(watched.exit_code == bare.exit_code);
    CHECK(watched.signal == bare.signal);
    CHECK_FALSE(contains(watched.err, "fake_cuda:"));
    CHECK_FALSE(watched.timed_out);
}

/// The members of an event's line that are written as `"name":value`, by name.
std::string member(const std::string& object, const std::string& name) {
    const std::string key = "\"" + name + "\":";
    const std::size_t at = object.find(key);
    if (at == std::string::npos) return {};
    const std::size_t begin = at + key.size();
    const char opens = object[begin];
    if (opens == '[') return object.substr(begin, object.find(']', begin) + 1 - begin);
    if (opens == '"') return object.substr(begin, object.find('"', begin + 1) + 1 - begin);
    return object.substr(begin, object.find_first_of(",}", begin) - begin);
}

/// The entries for this argument in the calls' sides, in order.
Lines arguments_of(const Lines& events, const std::string& side, const std::string& kernel,
                   const std::string& label) {
    Lines found;
    for (const std::string& line : events) {
        if (member(line, "event") != "\"call\"" || member(line, "side") != "\"" + side + "\"") continue;
        if (member(line, "kernel") != "\"" + kernel + "\"") continue;
        const std::size_t at = line.find("{\"label\":\"" + label + "\"");
        if (at == std::string::npos) continue;
        found.push_back(line.substr(at, line.find("{\"label\"", at + 1) - at));
    }
    return found;
}

/// The definition of the tensor that an argument refers to, without its number.
std::string tensor_of(const Lines& events, const std::string& argument) {
    const std::string start = "{\"event\":\"tensor\",\"id\":" + member(argument, "tensor") + ",";
    const auto found = std::find_if(events.begin(), events.end(),
                                    [&](const std::string& line) { return line.rfind(start, 0) == 0; });
    return found == events.end() ? "" : found->substr(start.size());
}

TEST_CASE("A context destroyed between or during runs does no harm, and the next one is measured") {
    for (const char* how : {"reset", "destroy", "reset_running", "destroy_running"}) {
        for (const Variables& fakes : {Variables{}, Variables{{"FAKE_CUDA_DELAY_US", "20000"}},
                                       Variables{{"FAKE_CUDA_INLINE", "1"}}}) {
            const Lines argv = lives({how, model_path("stats")});
            const Preloaded watched(argv, with(fakes));
            CAPTURE(how, fakes, watched.outcome.err);
            check_unharmed(argv, fakes, watched.outcome);
            CHECK_FALSE(contains(watched.outcome.err, " warn: "));
            const std::vector<Record> all = records(watched);
            std::vector<std::string> expected;
            for (std::size_t run = 0; run < 2 * kLives; ++run) {
                const std::vector<std::string> once = titles_of_run();
                expected.insert(expected.end(), once.begin(), once.end());
            }
            CHECK(titles_of(all) == expected);
            // Each run of each life has an input of its own.
            const auto inputs = with_title(all, "aoti_model_inputs - arg2_1");
            REQUIRE(inputs.size() == 2 * kLives);
            for (std::size_t life = 0; life < kLives; ++life) {
                for (std::size_t run = 0; run < 2; ++run)
                    CHECK(inputs[2 * life + run].field("Min value") == "-" + std::to_string(1 + life + run));
            }
            const Lines events = event_lines(Preloaded::files(watched.out(), "cuda_lives").empty()
                                                 ? watched.out()
                                                 : Preloaded::files(watched.out(), "cuda_lives").front());
            CHECK(are_whole(events));
            CHECK(ended_normally(events));
        }
    }
}

TEST_CASE("A primary context that is released for good does no harm either") {
    const Lines argv = lives({"release", model_path("stats")});
    const Preloaded watched(argv, kLevel2);
    CAPTURE(watched.outcome.err);
    check_unharmed(argv, {}, watched.outcome);
}

TEST_CASE("An input that an earlier run changes on another stream is measured after the wait for that run") {
    const Lines argv = lives({"shared", model_path("stats")});
    const Preloaded watched(argv, kLevel2);
    CAPTURE(watched.outcome.err);
    check_unharmed(argv, {}, watched.outcome);
    const Lines inputs =
        arguments_of(event_lines(watched.out()), "before", "aoti_torch_cuda_addmm_out", "arg2_1");
    REQUIRE(inputs.size() == 6);
    CHECK(member(inputs.front(), "min") == "-1");
    CHECK(member(inputs.back(), "min") == "\"NaN\"");
}

TEST_CASE("A fork during measuring leaves the parent measuring, whatever the child does") {
    if (!kChildrenCanAllocate) return;
    struct Expected {
        const char* how;
        bool child_runs;
        bool ends_normally;
    };
    for (const Expected& expected :
         {Expected{"exit", false, false}, Expected{"_exit", false, false}, Expected{"exec", false, false},
          Expected{"abort", false, false}, Expected{"cpu", true, true}, Expected{"cpu_exit", true, true},
          Expected{"cpu_abort", true, false}}) {
        for (const Variables& fakes : {Variables{}, Variables{{"FAKE_CUDA_DELAY_US", "500"}}}) {
            const Lines argv = lives({"fork", expected.how, model_path("stats"), model_path("cpu")});
            const Preloaded watched(argv, with(fakes));
            CAPTURE(expected.how, fakes, watched.outcome.err);
            check_unharmed(argv, fakes, watched.outcome);

            // The parent has whole runs to the end, of both models, and nothing of its children.
            const Lines events = event_lines(watched.out());
            CHECK(are_whole(events));
            CHECK(ended_normally(events));
            CHECK(shown_text(watched.out()) == watched.log_lines());
            const std::vector<Record> all = records(watched);
            const std::size_t runs = with_title(all, "aoti_model_inputs - arg2_1").size();
            CHECK(runs >= 2 * kChildren);
            for (const auto& [kernel, tensors] : kCudaTensors) {
                for (const char* when : {"before_launch - ", "after_launch - "})
                    CHECK(with_title(all, when + kernel + " - " + tensors[0]).size() == runs);
            }
            for (const Record& record : all)
                if (!record.field("Not measured").empty()) FAIL(record.title << " was not measured");

            std::size_t children = 0;
            for (const fs::path& folder : Preloaded::files(watched.out(), "cuda_lives")) {
                const Lines theirs = event_lines(folder);
                CAPTURE(folder);
                CHECK(are_whole(theirs));
                CHECK(ended_normally(theirs) == expected.ends_normally);
                CHECK(count_of_calls(theirs) > 0);
                ++children;
            }
            CHECK(children == (expected.child_runs ? kChildren : 0));
        }
    }
}

TEST_CASE("After an update, a weight is the same new one by its handle and by its pointer") {
    for (const char* variant : {"stats", "stats_folding"}) {
        const Lines argv = cuda_models({"--weights", "--runs", "2", "--streams", "nonblocking"}, {variant});
        const Preloaded watched(argv, kLevel2);
        CAPTURE(variant, watched.outcome.err);
        check_unharmed(argv, {}, watched.outcome);
        const Lines events = event_lines(watched.out());
        const Lines by_handle = arguments_of(events, "before", "aoti_torch_cuda_addmm_out", "l1_bias");
        const Lines by_pointer = arguments_of(events, "before", "triton_poi_fused_relu_0", "l1_bias");
        REQUIRE(by_handle.size() == 4);
        REQUIRE(by_pointer.size() == 4);
        for (std::size_t run = 0; run < 4; ++run) {
            CAPTURE(run, by_handle[run], by_pointer[run]);
            for (const char* name : {"sizes", "address", "mean", "min", "max", "values"})
                CHECK(member(by_handle[run], name) == member(by_pointer[run], name));
            CHECK_FALSE(member(by_pointer[run], "mean").empty());
            CHECK_FALSE(tensor_of(events, by_pointer[run]).empty());
            CHECK(tensor_of(events, by_handle[run]) == tensor_of(events, by_pointer[run]));
        }
        CHECK(member(by_pointer[0], "mean") == "0.75");
        const auto weights =
            with_title(records(watched), "before_launch - aoti_torch_cuda_addmm_out - l1_weight");
        REQUIRE(weights.size() == 4);
        CHECK(weights[1].field("Max value") == "2");
        CHECK(weights[2].field("Max value") == "3");
        CHECK(member(by_pointer[0], "address") == member(by_pointer[1], "address"));
        CHECK(member(by_pointer[2], "address") == member(by_pointer[3], "address"));
    }
}

}  // namespace
}  // namespace aoti_dbg::test::stats_lives_test
