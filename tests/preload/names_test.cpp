// The log of models: every call, by its name, once, in order. The reference is the list of calls that the
// fake model makes.
#include "tests/preload/preload_support.hpp"
#include "tests/support/catch.hpp"

namespace aoti_dbg::test::names_test {
namespace {

const Lines kRunLog = log_of(kOneRun);

/// The names where no package lies beside a model: the proxy executor's numbers have none.
Lines without_package(Lines names) {
    std::replace_if(
        names.begin(), names.end(),
        [](const std::string& name) { return name == "mylib::scale" || name == "mylib::bias"; },
        "proxy executor op");
    return names;
}

Lines without_last(Lines lines) {
    lines.pop_back();
    return lines;
}

TEST_CASE("However a model is linked and opened, its run is logged call by call, before and after") {
    for (const char* variant : {"cpu", "lazy", "relro", "noplt", "other", "throwing", "printer"}) {
        for (const std::string option : {"--quiet", "--deepbind", "--local-torch", "--single"}) {
            if (kSanitized && option == "--deepbind") continue;  // the sanitizers' runtimes refuse it
            CAPTURE(variant, option);
            const Preloaded watched(model_host({option, model_path(variant)}));
            CHECK(watched.outcome.exit_code == 0);
            CHECK(watched.log_lines() == kRunLog);
        }
    }
}

TEST_CASE("A model without sources runs with all of its 1000 arguments, which only its code defines") {
    const Preloaded watched(model_host({model_path("bare")}));
    const Outcome bare = run_program(model_host({model_path("bare")}));
    CHECK(watched.outcome.out == bare.out);
    CHECK(watched.log_lines() == log_of(without_package(kOneRun)));
}

TEST_CASE("Two runners on one library bind once, so each call is logged once") {
    const Preloaded watched(model_host({"--two-runners", "--runs", "2", model_path("cpu")}));
    CHECK(watched.log_lines() == times(4, kRunLog));
}

TEST_CASE("A model that is unloaded and loaded again is seen each time") {
    const Preloaded watched(model_host({"--reload", "6", model_path("cpu")}));
    CHECK(watched.log_lines() == times(7, kRunLog));
}

TEST_CASE("A model opened after another was unloaded is seen under its own file's name") {
    const Preloaded watched(model_host({"--then", model_path("other"), model_path("cpu")}));
    CHECK(watched.log_lines() == times(2, kRunLog));
    const std::string shown = watched.show();
    CHECK(contains(shown, "run of ccpu.wrapper.so"));
    CHECK(contains(shown, "run of cother.wrapper.so"));
}

TEST_CASE("Two models with kernels of the same names each keep their own") {
    const Lines argv = model_host({"--runs", "2", model_path("cpu"), model_path("other")});
    const Preloaded watched(argv);
    CHECK(watched.log_lines() == times(4, kRunLog));
    CHECK(watched.outcome.out == run_program(argv).out);
}

TEST_CASE("New weights between runs change nothing in the log") {
    const Preloaded watched(model_host({"--weights", model_path("cpu")}));
    CHECK(watched.log_lines() == times(2, kRunLog));
}

TEST_CASE("Threads log whole lines, and none is missing") {
    const Preloaded watched(
        model_host({"--threads", "4", "--runs", "25", model_path("cpu"), model_path("other")}));
    Lines expected = times(100, kRunLog);
    Lines lines = watched.log_lines();
    std::sort(expected.begin(), expected.end());
    std::sort(lines.begin(), lines.end());
    CHECK(lines == expected);
}

TEST_CASE("Threads that end while others start lose no call") {
    const Preloaded watched({victim_path("threads_churn"), "40", model_path("cpu")});
    CHECK(watched.log_lines().size() == 81 * kRunLog.size());
    CHECK(contains(watched.outcome.err, "1 model, 81 runs, 1134 calls; 1134 printed"));
}

TEST_CASE("A model linked into a program as a library is seen from its first call") {
    const Preloaded watched({victim_path("linked_model"), "2"});
    // Its last run fails in neg, the last but one of its calls.
    const Lines failing = without_last(without_last(kRunLog));
    CHECK(watched.log_lines() == joined(times(2, kRunLog), failing));
    CHECK(contains(watched.outcome.err, "3 runs"));
}

TEST_CASE("Of a model compiled into a program, all calls that leave the program are seen") {
    const Preloaded watched({victim_path("linked_static"), "2"});
    // The program calls its own kernels directly, without an import slot to replace.
    Lines outside = kOneRun;
    outside.erase(std::remove_if(outside.begin(), outside.end(),
                                 [](const std::string& name) { return name.rfind("cpp_fused_", 0) == 0; }),
                  outside.end());
    const Lines run = log_of(without_package(outside));
    CHECK(watched.log_lines() == joined(times(2, run), without_last(without_last(run))));
    CHECK(contains(watched.outcome.err, "3 runs"));
}

TEST_CASE("A thousand kernels each have their own name") {
    Lines names = {"aoti_torch_cpu_addmm_out"};
    for (int i = 0; i < 1000; ++i)
        names.push_back("cpp_fused_many_" + std::to_string(i));
    const Preloaded watched(model_host({"--runs", "2", model_path("thousand")}));
    CHECK(watched.log_lines() == times(2, log_of(names)));
}

TEST_CASE("A call that an exception unwound has no end, and the next run gets no false parents") {
    for (const char* variant : {"cpu", "throwing"}) {
        CAPTURE(variant);
        const Preloaded watched(model_host({"--throw", model_path(variant)}), {{"AOTI_DBG_SCOPE", "all"}});
        CHECK(watched.log_lines() == joined(without_last(kRunLog), times(2, kRunLog)));
        const Lines rows = rows_with(watched.show(), "at::_ops::abs::call");
        REQUIRE(rows.size() == 3);
        CHECK(ends_with(rows[0], "unwound by an exception"));
        CHECK(ends_with(rows[1], " ok"));
        CHECK(ends_with(rows[2], " ok"));
        // Each run has the same indent as the first one.
        const Lines runs = rows_with(watched.show(), "run of c" + std::string(variant) + ".wrapper.so");
        REQUIRE(runs.size() == 3);
        CHECK(runs[1].find("run of") == runs[0].find("run of"));
    }
}

TEST_CASE("A call that returns an error ends in the log and is marked as failed") {
    const Preloaded watched(model_host({"--error", model_path("cpu")}));
    CHECK(watched.log_lines() == joined(without_last(without_last(kRunLog)), kRunLog));
    const Lines rows = rows_with(watched.show(), "at::_ops::neg::call");
    REQUIRE(rows.size() == 2);
    CHECK(ends_with(rows[0], "error 1"));
    CHECK(ends_with(rows[1], " ok"));
    CHECK(contains(watched.outcome.err, "returned an error"));
}

TEST_CASE("The filter accepts PyTorch's names and the shim's, in any case, with spaces around") {
    const Preloaded watched(model_host({"--runs", "2", model_path("cpu")}),
                            {{"AOT_INDUCTOR_FILTERED_KERNELS_TO_PRINT",
                              " CPP_Fused_ReLU_0 ,aoti_torch_cpu_sort_stable,mylib::bias,cpp_fused_relu"}});
    const Lines names = {"cpp_fused_relu_0", "at::_ops::sort_stable::call", "mylib::bias"};
    CHECK(watched.log_lines() == times(2, log_of(names)));
    CHECK(contains(watched.outcome.err, "28 calls; 6 printed; 22 not selected"));
}

TEST_CASE("A filter without a match leaves an empty log and only the run in the ring") {
    const Preloaded watched(model_host({model_path("cpu")}),
                            {{"AOT_INDUCTOR_FILTERED_KERNELS_TO_PRINT", "no_such_kernel"}});
    CHECK(watched.log_lines().empty());
    CHECK(contains(watched.outcome.err, "14 calls; 14 not selected"));
    CHECK(contains(watched.show(), "run of ccpu.wrapper.so"));
    CHECK(rows_with(watched.show(), "cpp_fused_relu_0").empty());
}

TEST_CASE("PyTorch's own variable turns printing on, and ours overrides it") {
    const char* const kPrinter = "AOT_INDUCTOR_DEBUG_INTERMEDIATE_VALUE_PRINTER";
    const Preloaded on(model_host({model_path("cpu")}), {{kPrinter, "3"}, {"AOTI_DBG_LEVEL", ""}});
    CHECK(on.log_lines() == kRunLog);
    const Preloaded off(model_host({model_path("cpu")}), {{kPrinter, "3"}, {"AOTI_DBG_LEVEL", "0"}});
    CHECK(std::filesystem::is_empty(off.folder()));
}

TEST_CASE("A model compiled with PyTorch's printer is reported once, however often it runs") {
    const Preloaded watched(model_host({"--runs", "3", model_path("printer")}));
    std::size_t said = 0;
    for (const std::string& line : lines_of(watched.outcome.err))
        said += contains(line, "PyTorch's debug printer") ? 1 : 0;
    CHECK(said == 1);
}

TEST_CASE("Lines go to standard error unless the options say otherwise") {
    const TempFolder folder;
    const Outcome outcome = run_preloaded(model_host({model_path("cpu")}), {{"AOTI_DBG_LEVEL", "3"}},
                                          std::chrono::seconds(60), folder.path().string());
    Lines lines;
    for (const std::string& line : lines_of(outcome.err)) {
        if (line[0] == '[') lines.push_back(line);
    }
    CHECK(lines == kRunLog);
    CHECK(std::filesystem::is_symlink(folder.path() / "aoti_dbg" / "latest"));
}

#ifdef AOTI_DBG_HAS_FAKE_CUDA
TEST_CASE("A model on the device launches by PyTorch's names, and its ops' launches are their children") {
    const Lines argv = model_host({"--cuda", "--runs", "2", model_path("cuda")});
    const Lines names = {"aoti_torch_cuda_mm_out", "triton_poi_fused_relu_0", "add_kernel_0",
                         "aoti_torch_cuda_bmm_out"};
    const Preloaded model(argv);
    CHECK(model.log_lines() == times(2, log_of(names)));
    CHECK(contains(model.outcome.out, "code 0"));

    const Preloaded all(argv, {{"AOTI_DBG_SCOPE", "all"}});
    Lines run = log_of(names);
    run.insert(run.end() - 1, {"  " + before("fake_library_kernel"), "  " + after("fake_library_kernel")});
    CHECK(all.log_lines() == times(2, run));
}
#endif

}  // namespace
}  // namespace aoti_dbg::test::names_test
