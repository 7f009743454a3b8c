// Level 2 on CUDA models. Every tensor of every call is printed under its name, with its contents at that
// point of its stream. What the device and other threads do must not matter.
#include <cstdio>
#include <map>

#include "tests/preload/stats_records.hpp"
#include "tests/support/catch.hpp"

namespace aoti_dbg::test::stats_cuda_test {
namespace {

std::string six_digits(double value) {
    char text[32];
    std::snprintf(text, sizeof(text), "%g", value);
    return std::isnan(value) ? "nan" : text;
}

void check_values(const Record& record, const Values& values) {
    CAPTURE(record.title);
    const auto nans =
        std::count_if(values.begin(), values.end(), [](double value) { return std::isnan(value); });
    double sum = 0;
    for (const double value : values)
        sum += value;
    const double mean = sum / static_cast<double>(values.size());
    double squares = 0;
    for (const double value : values)
        squares += (value - mean) * (value - mean);
    CHECK(record.field("Number of elements") == std::to_string(values.size()));
    CHECK(record.field("Mean value") == six_digits(mean));
    CHECK(record.field("Std value") ==
          six_digits(std::sqrt(squares / static_cast<double>(values.size() - 1))));
    CHECK(record.field("NaN/Inf") == (nans == 0 ? "" : std::to_string(nans) + " NaN, 0 +Inf, 0 -Inf"));
    if (nans == 0) {
        CHECK(record.field("Min value") == six_digits(*std::min_element(values.begin(), values.end())));
        CHECK(record.field("Max value") == six_digits(*std::max_element(values.begin(), values.end())));
    } else {
        CHECK(record.field("Min value") == "nan");
        CHECK(record.field("Max value") == "nan");
    }
    CHECK(record.field("Device") == "cuda:0");
}

/// Checks every tensor of the process's first run of this model, except the index tensor.
void check_run(const std::vector<Record>& all, const CudaRun& run) {
    const Values untouched(kElements, 0.0);
    const std::vector<std::pair<std::string, Values>> expected = {
        {"aoti_model_inputs - arg2_1", run.arg2_1},
        {"before_launch - aoti_torch_cuda_addmm_out - buf0", untouched},
        {"before_launch - aoti_torch_cuda_addmm_out - l1_bias", run.bias},
        {"before_launch - aoti_torch_cuda_addmm_out - arg2_1", run.arg2_1},
        {"before_launch - aoti_torch_cuda_addmm_out - l1_weight", run.weight},
        {"after_launch - aoti_torch_cuda_addmm_out - buf0", run.addmm},
        {"after_launch - aoti_torch_cuda_addmm_out - l1_weight", run.weight},
        {"before_launch - triton_poi_fused_relu_0 - buf1", run.addmm},
        {"before_launch - triton_poi_fused_relu_0 - l1_bias", run.bias},
        {"after_launch - triton_poi_fused_relu_0 - buf1", run.relu},
        {"before_launch - triton_poi_fused_gt_arange_1 - buf1", run.relu},
        {"before_launch - triton_poi_fused_gt_arange_1 - buf2", untouched},
        {"after_launch - triton_poi_fused_gt_arange_1 - buf2", run.mask},
        {"before_launch - triton_poi_fused_sqrt_2 - arg2_1", run.arg2_1},
        {"before_launch - triton_poi_fused_sqrt_2 - buf4", untouched},
        {"after_launch - triton_poi_fused_sqrt_2 - buf4", run.root},
        {"before_launch - triton_poi_fused_add_3 - buf1", run.relu},
        {"before_launch - triton_poi_fused_add_3 - buf4", run.root},
        {"after_launch - triton_poi_fused_add_3 - buf5", run.sum},
        {"before_launch - add_kernel_0 - buf5", run.sum},
        // buf6 reuses the memory of buf4 and has its contents.
        {"before_launch - add_kernel_0 - buf6", run.root},
        {"after_launch - add_kernel_0 - buf5", run.sum},
        {"after_launch - add_kernel_0 - buf6", run.scaled},
    };
    for (const auto& [title, values] : expected) {
        const std::vector<Record> found = with_title(all, title);
        CAPTURE(title);
        REQUIRE_FALSE(found.empty());
        check_values(found.front(), values);
    }
}

TEST_CASE("Every tensor of every call is printed, in order, before and after") {
    const Preloaded run(cuda_models({"--runs", "3", "--streams", "nonblocking"}, {"stats"}), kLevel2);
    std::vector<std::string> expected;
    for (int i = 0; i < 3; ++i) {
        const std::vector<std::string> once = titles_of_run();
        expected.insert(expected.end(), once.begin(), once.end());
    }
    CHECK(titles_of(records(run)) == expected);
    CHECK_FALSE(contains(run.outcome.err, "fake_cuda:"));
}

TEST_CASE("Each record has the tensor's contents at that point of its stream, on every kind of stream") {
    for (const char* stream : {"legacy", "nonblocking", "blocking", "per_thread"}) {
        CAPTURE(stream);
        const Preloaded run(cuda_models({"--streams", stream}, {"stats"}), kLevel2);
        check_run(records(run), CudaRun(2));
    }
}

TEST_CASE("Ops on a stream that the model chose itself are measured on that stream") {
    for (const char* stream : {"legacy", "nonblocking"}) {
        CAPTURE(stream);
        const Preloaded run(cuda_models({"--streams", stream}, {"stats_streams"}), kLevel2);
        CHECK(titles_of(records(run)) == titles_of_run());
        check_run(records(run), CudaRun(2));
    }
}

TEST_CASE("A kernel that a completion marker serializes is called serialized") {
    const auto serialized_with = [](const char* completion) {
        const Preloaded run(cuda_models({}, {"stats_streams"}), with({{"AOTI_DBG_HANG", "300"},
                                                                      {"AOTI_DBG_COMPLETION", completion},
                                                                      {"AOTI_DBG_FORMAT", "compact"}}));
        int events = 0;
        for (const std::string& line : event_lines(run.out()))
            if (contains(line, "\"serialized\":true")) events += contains(line, "add_kernel_0") ? 1 : 100;
        int lines = 0;
        for (const std::string& line : run.log_lines())
            lines += contains(line, "serialized by a completion marker") ? 1 : 0;
        return std::pair(events, lines);
    };
    CHECK(serialized_with("markers") == std::pair(2, 1));
    CHECK(serialized_with("off") == std::pair(0, 0));
}

TEST_CASE("Records have the right contents however far the device is behind the program") {
    const Preloaded slow(cuda_models({"--streams", "nonblocking"}, {"stats"}),
                         with({{"FAKE_CUDA_DELAY_US", "3000"}}));
    check_run(records(slow), CudaRun(2));
    const Preloaded at_once(cuda_models({}, {"stats"}), with({{"FAKE_CUDA_INLINE", "1"}}));
    check_run(records(at_once), CudaRun(2));
}

TEST_CASE("Integers are exact and bools are counted, in their own dtypes") {
    const Preloaded run(cuda_models({}, {"stats"}), kLevel2);
    const std::vector<Record> all = records(run);
    const auto index = with_title(all, "after_launch - triton_poi_fused_gt_arange_1 - buf3");
    const auto mask = with_title(all, "after_launch - triton_poi_fused_gt_arange_1 - buf2");
    REQUIRE(index.size() == 1);
    REQUIRE(mask.size() == 1);
    CHECK(index[0].field("Min value") == kSmallestIndex);
    CHECK(index[0].field("Max value") == kLargestIndex);
    CHECK(index[0].field("Size") == "[8, 16]");
    CHECK(mask[0].field("Min value") == "0");
    CHECK(mask[0].field("Max value") == "1");
    CHECK(mask[0].field("Dtype") == "bool");
}

TEST_CASE("A NaN is first reported where it appears") {
    const Preloaded run(cuda_models({}, {"stats"}), kLevel2);
    for (const Record& record : records(run)) {
        if (record.field("NaN/Inf").empty()) continue;
        CHECK(record.title == "after_launch - triton_poi_fused_sqrt_2 - buf4");
        break;
    }
}

TEST_CASE("A tensor is measured before the program overwrites its memory") {
    // A copy overwrites the input right after each run, and each run has its own minimum.
    for (const char* delay : {"0", "2000"}) {
        const Preloaded run(cuda_models({"--runs", "5", "--streams", "nonblocking"}, {"stats"}),
                            with({{"FAKE_CUDA_DELAY_US", delay}}));
        const auto inputs = with_title(records(run), "after_launch - triton_poi_fused_sqrt_2 - arg2_1");
        REQUIRE(inputs.size() == 5);
        for (int i = 0; i < 5; ++i)
            CHECK(inputs[static_cast<std::size_t>(i)].field("Min value") == std::to_string(-1 - i));
        // The last call's output is measured too, although its memory is reused at once.
        const auto last = with_title(records(run), "after_launch - add_kernel_0 - buf6");
        REQUIRE(last.size() == 5);
        for (int i = 0; i < 5; ++i)
            check_values(last[static_cast<std::size_t>(i)], CudaRun(2, i).scaled);
    }
}

TEST_CASE("The work between two calls is one launch, and the end of a run adds none") {
    // Each run has eight: one before its first call, five between its six calls, one behind the last, and the
    // outputs, which are other tensors. The next run's wait for this one's end event adds no launch. The
    // input adds one, because the first tensor of the process is filled right before its first call.
    for (const char* reuse : {"on", "off"}) {
        CAPTURE(reuse);
        const Preloaded run(cuda_models({"--runs", "3", "--streams", "nonblocking"}, {"stats"}),
                            with({{"AOTI_DBG_REUSE", reuse}, {"FAKE_CUDA_COUNT", "1"}}));
        CHECK(contains(run.outcome.err, "fake_cuda: 25 launches of the fatbin"));
    }
}

TEST_CASE("New weights are measured at their new address") {
    const Preloaded run(cuda_models({"--weights"}, {"stats"}), kLevel2);
    const auto weights = with_title(records(run), "before_launch - aoti_torch_cuda_addmm_out - l1_weight");
    REQUIRE(weights.size() == 2);
    check_values(weights[0], CudaRun(2).weight);
    check_values(weights[1], CudaRun(3).weight);
    const auto biases = with_title(records(run), "before_launch - triton_poi_fused_relu_0 - l1_bias");
    REQUIRE(biases.size() == 2);
    check_values(biases[1], CudaRun(3).bias);
}

TEST_CASE("Two models in four threads, on the legacy stream and others, are measured separately") {
    constexpr int kRuns = 20;
    const Preloaded run(cuda_models({"--threads", "4", "--runs", std::to_string(kRuns), "--streams",
                                     "legacy,nonblocking,blocking,per_thread"},
                                    {"stats", "stats_other"}),
                        kLevel2);
    const std::vector<Record> all = records(run);
    CHECK_FALSE(contains(run.outcome.err, "fake_cuda:"));
    for (const auto& [kernel, tensors] : kCudaTensors) {
        for (const std::string& tensor : tensors) {
            CAPTURE(kernel, tensor);
            CHECK(with_title(all, "before_launch - " + kernel + " - " + tensor).size() == 4 * kRuns);
            CHECK(with_title(all, "after_launch - " + kernel + " - " + tensor).size() == 4 * kRuns);
        }
    }
    // Two threads ran each model, every run on another input.
    std::map<std::string, int> expected;
    for (int i = 0; i < kRuns; ++i) {
        for (const double factor : {2.0, 3.0}) {
            const Values values = CudaRun(factor, i).addmm;
            expected[six_digits(*std::min_element(values.begin(), values.end()))] += 2;
        }
    }
    std::map<std::string, int> seen;
    for (const Record& record : with_title(all, "after_launch - aoti_torch_cuda_addmm_out - buf0"))
        ++seen[record.field("Min value")];
    CHECK(seen == expected);
}

TEST_CASE("Beside a capture other calls are measured; inside it calls are named and the graph stays as is") {
    const Lines argv =
        cuda_models({"--threads", "3", "--capture", "--streams", "nonblocking,legacy,nonblocking"},
                    {"stats", "stats_other"});
    const Preloaded run(argv, kLevel2);
    CHECK(run.outcome.out == run_bare(argv).out);
    const std::vector<Record> all = records(run);
    for (const auto& [kernel, tensors] : kCudaTensors) {
        CAPTURE(kernel);
        // One run before the capture, and six in each of the other threads.
        CHECK(with_title(all, "before_launch - " + kernel + " - " + tensors[0]).size() == 1 + 2 * 6);
        CHECK(with_title(all, "after_launch - " + kernel + " - " + tensors[0]).size() == 1 + 2 * 6);
    }
    Lines named;
    for (const std::string& line : run.log_lines()) {
        if (line.rfind("[ before_launch: ", 0) == 0) named.push_back(line);
    }
    Lines expected;
    for (const std::string& kernel : kCudaRun)
        expected.push_back(before(kernel));
    CHECK(named == expected);
    const std::size_t said = run.outcome.err.find("captur");
    CHECK(said != std::string::npos);
}

TEST_CASE("Only selected calls are measured") {
    const Preloaded run(
        cuda_models({"--runs", "2"}, {"stats"}),
        with({{"AOTI_DBG_KERNELS", "triton_poi_fused_relu_0,add_kernel_0"}, {"AOTI_DBG_SIDE", "after"}}));
    CHECK(titles_of(records(run)) ==
          times(2, {"after_launch - triton_poi_fused_relu_0 - buf1",
                    "after_launch - triton_poi_fused_relu_0 - l1_bias", "after_launch - add_kernel_0 - buf5",
                    "after_launch - add_kernel_0 - buf6"}));
}

TEST_CASE("If our code cannot be loaded or launched, calls are named and one message says so") {
    for (const Variables& broken :
         {Variables{{"FAKE_CUDA_NO_FATBIN", "1"}}, Variables{{"FAKE_CUDA_REFUSE", "aoti_dbg_stats"}}}) {
        const Preloaded run(cuda_models({"--runs", "2"}, {"stats"}), with(broken));
        CAPTURE(run.outcome.err);
        CHECK(run.outcome.exit_code == 0);
        const std::string warning = " warn: ";
        const std::size_t first = run.outcome.err.find(warning);
        REQUIRE(first != std::string::npos);
        CHECK(run.outcome.err.find(warning, first + 1) == std::string::npos);
        const Lines lines = run.log_lines();
        CHECK(std::count(lines.begin(), lines.end(), before("triton_poi_fused_sqrt_2")) >= 1);
    }
}

}  // namespace
}  // namespace aoti_dbg::test::stats_cuda_test
