// Level 2 on whole processes: which tensors are printed for the calls of the fake model, under which names,
// before and after. The program must not notice. measure_text and tests/models cover the text about a tensor.
#include "tests/preload/preload_support.hpp"
#include "tests/support/catch.hpp"

namespace aoti_dbg::test::stats_test {
namespace {

const Variables kLevel2 = {{"AOTI_DBG_LEVEL", "2"}};

/// The titles of the records, in order: "before_launch - cpp_fused_relu_0 - buf0".
Lines titles(const Preloaded& watched) {
    Lines found;
    for (const std::string& line : watched.log_lines()) {
        if (line.rfind("[  ", 0) == 0 && ends_with(line, "  ]:"))
            found.push_back(line.substr(3, line.size() - 3 - 4));
    }
    return found;
}

Lines of_kernel(const Lines& all, const std::string& kernel) {
    Lines found;
    for (const std::string& title : all) {
        if (contains(title, " - " + kernel + " - ")) found.push_back(title);
    }
    return found;
}

/// The lines of the first record with this title.
Lines record(const Preloaded& watched, const std::string& title) {
    Lines found;
    for (const std::string& line : watched.log_lines()) {
        if (found.empty() && line != "[  " + title + "  ]:") continue;
        found.push_back(line);
        if (line.rfind("Requires grad", 0) == 0) break;
    }
    return found;
}

TEST_CASE("Tensors have the names of the wrapper source, before the call and after it") {
    const Preloaded watched(model_host({model_path("cpu")}), kLevel2);
    const Lines all = titles(watched);
    REQUIRE_FALSE(all.empty());
    CHECK(all.front() == "aoti_model_inputs - input0");
    CHECK(of_kernel(all, "aoti_torch_cpu_addmm_out") ==
          Lines{"before_launch - aoti_torch_cpu_addmm_out - buf0",
                "before_launch - aoti_torch_cpu_addmm_out - weight",
                "before_launch - aoti_torch_cpu_addmm_out - arg0_1",
                "before_launch - aoti_torch_cpu_addmm_out - weight",
                "after_launch - aoti_torch_cpu_addmm_out - buf0",
                "after_launch - aoti_torch_cpu_addmm_out - weight",
                "after_launch - aoti_torch_cpu_addmm_out - arg0_1",
                "after_launch - aoti_torch_cpu_addmm_out - weight"});
    CHECK(of_kernel(all, "cpp_fused_relu_0") ==
          Lines{"before_launch - cpp_fused_relu_0 - buf0", "before_launch - cpp_fused_relu_0 - arg0_1",
                "after_launch - cpp_fused_relu_0 - buf0", "after_launch - cpp_fused_relu_0 - arg0_1"});
}

TEST_CASE("Calls missing from the sources use positions, and kernel pointers the tensors fetched for them") {
    const Preloaded watched(model_host({model_path("cpu")}), kLevel2);
    const Lines all = titles(watched);
    CHECK(of_kernel(all, "at::_ops::cat::call") == Lines{"before_launch - at::_ops::cat::call - arg0[0]",
                                                         "before_launch - at::_ops::cat::call - arg0[1]",
                                                         "before_launch - at::_ops::cat::call - arg0[2]",
                                                         "after_launch - at::_ops::cat::call - arg0[0]",
                                                         "after_launch - at::_ops::cat::call - arg0[1]",
                                                         "after_launch - at::_ops::cat::call - arg0[2]",
                                                         "after_launch - at::_ops::cat::call - arg3"});
    // Integer arguments are not tensors.
    CHECK(of_kernel(all, "cpp_fused_mul_1") ==
          Lines{"before_launch - cpp_fused_mul_1 - arg0", "before_launch - cpp_fused_mul_1 - arg1",
                "before_launch - cpp_fused_mul_1 - arg2", "before_launch - cpp_fused_mul_1 - arg3",
                "before_launch - cpp_fused_mul_1 - arg4", "after_launch - cpp_fused_mul_1 - arg0",
                "after_launch - cpp_fused_mul_1 - arg1", "after_launch - cpp_fused_mul_1 - arg2",
                "after_launch - cpp_fused_mul_1 - arg3", "after_launch - cpp_fused_mul_1 - arg4"});
}

TEST_CASE("A call's outputs are inspected only after it, and not at all if the call failed") {
    const Preloaded watched(model_host({"--error", model_path("cpu")}), kLevel2);
    const Lines all = titles(watched);
    const auto count = [&all](const std::string& title) { return std::count(all.begin(), all.end(), title); };
    CHECK(count("before_launch - at::_ops::sort_stable::call - arg4") == 0);
    CHECK(count("after_launch - at::_ops::sort_stable::call - arg4") == 2);
    CHECK(count("after_launch - at::_ops::sort_stable::call - arg5") == 2);
    // If nothing says which of its tensors an op creates, all of them may be new.
    CHECK(count("before_launch - mylib::scale - arg5[1]") == 0);
    CHECK(count("after_launch - mylib::scale - arg5[1]") == 2);
    CHECK(watched.outcome.exit_code == 0);
}

TEST_CASE("A record has the tensor's contents") {
    const Preloaded watched(model_host({model_path("cpu")}), kLevel2);
    Lines lines = record(watched, "aoti_model_inputs - input0");
    REQUIRE(lines.size() == 1 + 32 + 1 + 12);
    CHECK(lines[1] == " 0.1250");
    CHECK(lines[32] == " 4.0000");
    lines.erase(lines.begin(), lines.begin() + 33);
    CHECK(lines == Lines{"[ CPUFloatType{32} ]", "Number of elements: 32", "Dtype: float32",
                         "Mean value: 2.0625", "Min value: 0.125", "Max value: 4", "Std value: 1.1726",
                         "Device: cpu", "Size: [32]", "Stride: [1]", "Layout: Strided", "Is contiguous: 1",
                         "Requires grad: 0"});
}

TEST_CASE("Level 2 prints launch lines only for calls with unknown arguments; names,stats prints all") {
    const Preloaded alone(model_host({model_path("cpu")}), kLevel2);
    Lines launches;
    for (const std::string& line : alone.log_lines()) {
        if (contains(line, "_launch: ")) launches.push_back(line);
    }
    CHECK(launches == log_of({"mylib::shift.default", "at::_ops::neg::call"}));

    const Preloaded both(model_host({model_path("cpu")}), {{"AOTI_DBG_LEVEL", "names,stats"}});
    launches.clear();
    for (const std::string& line : both.log_lines()) {
        if (contains(line, "_launch: ")) launches.push_back(line);
    }
    CHECK(launches == log_of(kOneRun));
    CHECK(titles(both) == titles(alone));
}

TEST_CASE("Only selected calls are measured, under the names that they have among all calls") {
    const Preloaded watched(
        model_host({"--runs", "2", model_path("cpu")}),
        {{"AOTI_DBG_LEVEL", "2"}, {"AOTI_DBG_KERNELS", "cpp_fused_relu_0"}, {"AOTI_DBG_SIDE", "after"}});
    CHECK(titles(watched) ==
          times(2, {"after_launch - cpp_fused_relu_0 - buf0", "after_launch - cpp_fused_relu_0 - arg0_1",
                    "aoti_model_outputs - output0"}));
}

TEST_CASE("A model without sources has its ops measured by position") {
    const Preloaded watched(model_host({model_path("bare")}), kLevel2);
    const Lines found = of_kernel(titles(watched), "aoti_torch_cpu_addmm_out");
    REQUIRE(found.size() == 8);
    CHECK(found[0] == "before_launch - aoti_torch_cpu_addmm_out - arg0");
    CHECK(found[7] == "after_launch - aoti_torch_cpu_addmm_out - arg3");
}

TEST_CASE("The program computes the same as bare, errno included, in threads and after failures") {
    for (const Lines& options :
         {Lines{"--runs", "3"}, Lines{"--two-runners"}, Lines{"--threads", "4", "--runs", "5"},
          Lines{"--error"}, Lines{"--weights"}, Lines{"--reload", "3"}, Lines{"--single"}}) {
        Lines arguments = options;
        arguments.push_back(model_path("cpu"));
        const Lines argv = model_host(arguments);
        const Outcome bare = run_program(argv);
        const Preloaded watched(argv, kLevel2);
        CAPTURE(options);
        CHECK(watched.outcome.exit_code == bare.exit_code);
        CHECK(watched.outcome.out == bare.out);
        CHECK_FALSE(titles(watched).empty());
    }
}

TEST_CASE("Threads write whole records") {
    const Preloaded one(model_host({model_path("cpu")}), kLevel2);
    const Preloaded many(model_host({"--threads", "4", "--runs", "5", model_path("cpu")}), kLevel2);
    Lines expected = times(20, titles(one));
    Lines found = titles(many);
    std::sort(expected.begin(), expected.end());
    std::sort(found.begin(), found.end());
    CHECK(found == expected);
    CHECK(many.log_lines().size() == 20 * one.log_lines().size());
}

}  // namespace
}  // namespace aoti_dbg::test::stats_test
