// AOTI_DBG_CHECK=args on the fake CUDA models: inputs and kernel arguments that are wrong in one way at a
// time. The program runs as it does bare, and correct arguments are never reported.
#include <csignal>

#include "tests/preload/cuda_models_fixture.hpp"
#include "tests/support/catch.hpp"

namespace aoti_dbg::test::checks_test {
namespace {

#ifdef AOTI_DBG_HAS_FAKE_CUDA

constexpr const char* kTwoDevices = "FAKE_CUDA_DEVICES";

Lines wrong_arguments(const std::string& what, const std::string& variant = "stats") {
    return {victim_path("wrong_arguments"), what, model_path(variant)};
}

/// Runs the victim bare and under the library; the two must behave alike.
Lines findings_of(const std::string& what, Variables env = {{"AOTI_DBG_CHECK", "args"}}) {
    env.insert({kTwoDevices, "2"});
    env.insert({"AOTI_DBG_LEVEL", ""});
    const Outcome bare = run_bare(wrong_arguments(what), {{kTwoDevices, "2"}});
    const Preloaded seen(wrong_arguments(what), env);
    CAPTURE(what, bare.err, seen.outcome.err);
    CHECK(bare.exit_code == 0);
    CHECK(seen.outcome.exit_code == 0);
    CHECK(seen.outcome.out == bare.out);
    return titles(seen.log_lines());
}

bool has(const Lines& lines, const std::string& beginning, const std::string& part = {}) {
    return std::any_of(lines.begin(), lines.end(), [&](const std::string& line) {
        return line.rfind(beginning, 0) == 0 && contains(line, part);
    });
}

const std::string kPointer = "triton_poi_fused_sqrt_2 argument arg2_1: expected device memory, got 0x";

TEST_CASE("A model that gets what it was compiled for has no finding") {
    CHECK(findings_of("sound").empty());
    CHECK(findings_of("sound", {{"AOTI_DBG_TRIAGE", "1"}}).empty());
    for (const Lines& options : {Lines{"--runs", "5", "--threads", "3"}, Lines{"--weights"},
                                 Lines{"--threads", "3", "--capture", "--streams", "nonblocking"}}) {
        const Preloaded seen(cuda_models(options, {"stats", "stats_other"}),
                             {{"AOTI_DBG_CHECK", "args"}, {"AOTI_DBG_LEVEL", ""}});
        CAPTURE(seen.outcome.err);
        CHECK(seen.outcome.exit_code == 0);
        CHECK(titles(seen.log_lines()).empty());
    }
}

TEST_CASE("A kernel argument in host memory or in freed memory is reported") {
    CHECK(has(findings_of("host"), kPointer, "which the driver does not know"));
    CHECK(has(findings_of("freed"), kPointer, "which the driver does not know"));
}

TEST_CASE("A tensor on another device than the kernel is reported") {
    CHECK(findings_of("other_device") ==
          Lines{"triton_poi_fused_sqrt_2 argument arg2_1: expected device cuda:0, got cuda:1"});
}

TEST_CASE("A view beyond the end of its storage is reported when it is created") {
    const Preloaded seen(wrong_arguments("sound", "stats_beyond"),
                         {{"AOTI_DBG_CHECK", "args"}, {"AOTI_DBG_LEVEL", ""}});
    CAPTURE(seen.outcome.err);
    CHECK(seen.outcome.out == run_bare(wrong_arguments("sound", "stats_beyond")).out);
    CHECK(titles(seen.log_lines()) ==
          Lines{"aoti_torch__reinterpret_tensor: expected a storage of at least 516 "
                "bytes (sizes [4, 16], strides [16, 1], offset 65), got 512 bytes"});
}

TEST_CASE("Inputs of the wrong kind are reported before the run starts") {
    CHECK(has(findings_of("cpu"), "model input arg2_1: expected device cuda, got cpu"));
    CHECK(has(findings_of("dtype"), "model input arg2_1: expected dtype float32, got int64"));
    CHECK(has(findings_of("size"), "model input arg2_1: expected size 8 at dim 0, got 7 (shape [7, 16])"));
    CHECK(has(findings_of("two_inputs"), "model: expected 1 input, got 2"));
}

TEST_CASE("A run is reported after a failed update of constants, and not after a successful one") {
    CHECK(findings_of("failed_update") ==
          Lines{"model: expected a successful update of the constants, got error 1 of "
                "AOTInductorModelContainerUpdateConstantBuffer"});
    CHECK(findings_of("later_update").empty());
}

TEST_CASE("Triage turns the check on, and a model without sources counts as not checkable") {
    CHECK(has(findings_of("host", {{"AOTI_DBG_TRIAGE", "1"}}), kPointer));
    CHECK(findings_of("host", {{"AOTI_DBG_TRIAGE", "1"}, {"AOTI_DBG_CHECK", "none"}}).empty());
    const Preloaded bare(wrong_arguments("dtype", "stats_bare"),
                         {{"AOTI_DBG_CHECK", "args"}, {"AOTI_DBG_LEVEL", ""}});
    CAPTURE(bare.outcome.err);
    // The failed run itself is reported even without sources, once.
    CHECK(titles(bare.log_lines()) == Lines{"run of cstats_bare.wrapper.so: expected success, got error 1"});
    CHECK(titles(Preloaded(wrong_arguments("dtype", "stats_bare"),
                           {{"AOTI_DBG_CHECK", "args"},
                            {"AOTI_DBG_LEVEL", ""},
                            {"AOTI_DBG_SUPPRESS", "args in run of cstats_bare.wrapper.so"}})
                     .log_lines())
              .empty());
    CHECK(contains(bare.outcome.err, "1 model with inputs that cannot be checked"));
}

TEST_CASE("With raise the run fails before the fault, and with abort the process ends before it") {
    const auto ended = [](const char* how) {
        return Preloaded(wrong_arguments("other_device"), {{"AOTI_DBG_CHECK", "args"},
                                                           {"AOTI_DBG_LEVEL", ""},
                                                           {"AOTI_DBG_ON_FINDING", how},
                                                           {kTwoDevices, "2"}})
            .outcome;
    };
    CHECK(ended("report").out == "run: 0, then: 0\n");
    CHECK(ended("raise").out == "run: 1, then: 0\n");
    CHECK(ended("abort").signal == SIGABRT);
}

#endif

const Variables kChecking = {{"AOTI_DBG_CHECK", "args"}, {"AOTI_DBG_LEVEL", ""}};

TEST_CASE("A model call that an exception unwound is reported once per place") {
    for (const char* variant : {"throwing", "cpu"}) {
        const Lines program = model_host({"--throw", model_path(variant), model_path(variant)});
        const Preloaded seen(program, kChecking);
        CAPTURE(variant, seen.outcome.err);
        CHECK(seen.outcome.out == run_bare(program).out);
        CHECK(titles(seen.log_lines()) == Lines{"at::_ops::abs::call: expected success, got an exception"});
    }
    Variables env = kChecking;
    env["AOTI_DBG_SUPPRESS"] = "args in at::_ops::abs::call";
    CHECK(titles(Preloaded(model_host({"--throw", model_path("cpu")}), env).log_lines()).empty());
}

TEST_CASE("An op that returns an error is reported, and the run that fails because of it is not") {
    const Preloaded seen(model_host({"--error", model_path("cpu")}), kChecking);
    const Lines reported = titles(seen.log_lines());
    REQUIRE(reported.size() == 1);
    CHECK(contains(reported[0], ": expected success, got error 1"));
    CHECK_FALSE(contains(reported[0], "run of "));
}

TEST_CASE("Exceptions that a program throws and catches outside of models are not findings") {
    for (const Lines& options :
         {Lines{"--runs", "5"}, Lines{"--runs", "3", "--threads", "4"}, Lines{"--two-runners"}}) {
        const Preloaded sound(model_host(joined(options, {model_path("cpu")})), kChecking);
        CAPTURE(sound.outcome.err);
        CHECK(titles(sound.log_lines()).empty());
    }
}

}  // namespace
}  // namespace aoti_dbg::test::checks_test
