// A runtime that loads models without libtorch, bare and with the library preloaded: it must not notice, and
// calls have their names and tensors. A libtorch is in the same process, and must not be asked.
#include <algorithm>

#include "tests/preload/preload_support.hpp"
#include "tests/support/catch.hpp"

namespace aoti_dbg::test::lean_runtime_test {
namespace {

Lines lean(const std::string& program, Lines options, const std::string& variant) {
    options.insert(options.begin(), victim_path(program));
    options.push_back(model_path(variant));
    return options;
}

Lines lean(Lines options = {}) {
    return lean("lean_runtime", std::move(options), "lean");
}

const Lines kLeanRun = {"aoti_torch_cpu_mm_out", "cpp_fused_relu_0", "at::_ops::int8_plain_mm::call"};

struct Case {
    std::string what;
    Lines argv;
};

std::vector<Case> all_cases() {
    std::vector<Case> cases = {{"its own library", lean({"--runs", "3"})},
                               {"a failing run", lean({"--wrong-shape"})},
                               {"in the program", lean("lean_static", {"--runs", "2"}, "lean")},
                               {"with too few functions", lean("lean_poor", {"--runs", "2"}, "lean")}};
    if (!kSanitized) cases.push_back({"deepbind", lean("lean_runtime", {"--deepbind"}, "lean_linked")});
#ifdef AOTI_DBG_HAS_FAKE_CUDA
    cases.push_back({"cuda", lean("lean_runtime", {"--cuda", "--runs", "2"}, "lean_cuda")});
    cases.push_back({"cuda in the program", lean("lean_static", {"--cuda"}, "lean_cuda")});
#endif
    return cases;
}

const std::vector<Variables> kSettings = {
    {{"AOTI_DBG_LEVEL", "0"}},
    {{"AOTI_DBG_LEVEL", "1"}},
    {{"AOTI_DBG_LEVEL", "2"}},
    {{"AOTI_DBG_LEVEL", "3"}},
    {{"AOTI_DBG_LEVEL", "3"}, {"AOTI_DBG_CHECK", "nan,inf,args,races"}},
    {{"AOTI_DBG_LEVEL", "3"}, {"AOTI_DBG_TRIAGE", "1"}, {"AOTI_DBG_CHECK", "nan,inf,args,races"}},
};

/// The titles of records with values, in order.
Lines written_records(const Preloaded& watched) {
    Lines found;
    for (const std::string& line : watched.log_lines()) {
        if (line.rfind("[  ", 0) == 0 && ends_with(line, "  ]:"))
            found.push_back(line.substr(3, line.size() - 3 - 4));
    }
    return found;
}

Lines values_of(const Preloaded& watched, const std::string& title, const std::string& field) {
    Lines found;
    bool is_inside = false;
    for (const std::string& line : watched.log_lines()) {
        if (line.rfind("[  ", 0) == 0) is_inside = line == "[  " + title + "  ]:";
        if (is_inside && line.rfind(field + ": ", 0) == 0) found.push_back(line.substr(field.size() + 2));
    }
    return found;
}

TEST_CASE("A runtime without libtorch prints and ends the same with the library and without") {
    for (const Case& victim : all_cases()) {
        CAPTURE(victim.what);
        const TempFolder elsewhere;
        const Outcome bare = run_bare(victim.argv, {}, std::chrono::seconds(120), elsewhere.path());
        CAPTURE(bare.err);
        REQUIRE(bare.exit_code == 3);
        REQUIRE(contains(bare.out, "tensors left: 0, messages of dlerror: 0\n"));
        for (const Variables& settings : kSettings) {
            const Preloaded watched(victim.argv, settings);
            CAPTURE(settings, watched.outcome.err);
            CHECK(watched.outcome.out == bare.out);
            CHECK(watched.outcome.exit_code == bare.exit_code);
            CHECK(watched.outcome.signal == bare.signal);
        }
    }
}

TEST_CASE("Names of a runtime without libtorch are those of its kernels and ops") {
    const Preloaded library(lean({"--runs", "2"}));
    CHECK(library.log_lines() == times(2, log_of(kLeanRun)));
    // The model imports a function that the runtime lacks, but never calls it.
    CHECK_FALSE(contains(library.outcome.err, "not intercepted"));
    CHECK(Preloaded(lean("lean_static", {}, "lean")).log_lines() == log_of(kLeanRun));
}

TEST_CASE("A runtime with too few functions gets names, and one message that says so") {
    const Preloaded watched(lean("lean_poor", {"--runs", "2"}, "lean"), {{"AOTI_DBG_LEVEL", "2"}});
    CHECK(watched.log_lines() == times(2, log_of(kLeanRun)));
    const std::string message = "lacks functions that describe tensors";
    const std::size_t first = watched.outcome.err.find(message);
    CAPTURE(watched.outcome.err);
    REQUIRE(first != std::string::npos);
    CHECK(watched.outcome.err.find(message, first + 1) == std::string::npos);
}

TEST_CASE("Statistics come from the runtime's own functions, wherever they are") {
    for (const std::string& program : Lines{"lean_runtime", "lean_static"}) {
        const Preloaded watched(lean(program, {}, "lean"), {{"AOTI_DBG_LEVEL", "2"}});
        CAPTURE(program, watched.outcome.err);
        const std::string product = "after_launch - aoti_torch_cpu_mm_out - arg0";
        CHECK(written_records(watched).front() == "aoti_model_inputs - input0");
        CHECK(values_of(watched, "aoti_model_inputs - input0", "Mean value") == Lines{"7.5"});
        CHECK(values_of(watched, "aoti_model_inputs - input0", "Size") == Lines{"[8, 4]"});
        CHECK(values_of(watched, product, "Min value") == Lines{"-16"});
        CHECK(values_of(watched, product, "Max value") == Lines{"46"});
        CHECK(values_of(watched, "aoti_model_outputs - output0", "Max value") == Lines{"69"});
        CHECK_FALSE(contains(watched.outcome.err, "warn"));
    }
}

#ifdef AOTI_DBG_HAS_FAKE_CUDA
TEST_CASE("Statistics of a runtime without libtorch cover tensors on a GPU") {
    for (const std::string& program : Lines{"lean_runtime", "lean_static"}) {
        const Preloaded watched(lean(program, {"--cuda"}, "lean_cuda"), {{"AOTI_DBG_LEVEL", "2"}});
        CAPTURE(program, watched.outcome.err);
        const std::string relu = "after_launch - triton_poi_fused_relu_0 - arg0";
        CHECK(values_of(watched, relu, "Device") == Lines{program == "lean_static" ? "cuda" : "cuda:0"});
        CHECK(values_of(watched, relu, "Size") == Lines{"[8, 4]"});
        CHECK(values_of(watched, "after_launch - at::_ops::sort_stable::call - arg4", "Max value") ==
              values_of(watched, relu, "Max value"));
    }
}
#endif

TEST_CASE("A finding can fail a run of a runtime without libtorch, and every tensor is freed once") {
    for (const std::string& program : Lines{"lean_runtime", "lean_static"}) {
        const Preloaded watched(lean(program, {"--nan"}, "lean"),
                                {{"AOTI_DBG_CHECK", "nan"}, {"AOTI_DBG_ON_FINDING", "raise"}});
        CAPTURE(program, watched.outcome.out, watched.outcome.err);
        CHECK(contains(watched.outcome.out, "run 0: 1, "));
        CHECK(contains(watched.outcome.out, "tensors left: 0, "));
        CHECK(watched.outcome.exit_code == 3);
    }
}

TEST_CASE("The libtorch beside such a runtime is not reported as the model's") {
    const Preloaded watched(lean("lean_static", {}, "lean"));
    for (const auto& entry : std::filesystem::recursive_directory_iterator(watched.out()))
        CHECK_FALSE(contains(read_text(entry.path()), "2.7.1"));
}

}  // namespace
}  // namespace aoti_dbg::test::lean_runtime_test
