// Shared by the tests of CUDA models: the victim with its models, and each tensor's contents at each point of
// a run, by the arithmetic of tests/fakes/model/stats_model.cpp. Contains no checks.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "tests/preload/preload_support.hpp"

namespace aoti_dbg::test {

inline constexpr int kElements = 128;
inline constexpr int kColumns = 16;

/// cuda_models with these options and models. It runs in the folder where the fakes explain device errors.
inline Lines cuda_models(Lines options, const Lines& variants) {
    options.insert(options.begin(), victim_path("cuda_models"));
    for (const std::string& variant : variants)
        options.push_back(model_path(variant));
    return options;
}

/// The kernels of one run, by PyTorch's names.
inline const Lines kCudaRun = {"aoti_torch_cuda_addmm_out",    "triton_poi_fused_relu_0",
                               "triton_poi_fused_gt_arange_1", "triton_poi_fused_sqrt_2",
                               "triton_poi_fused_add_3",       "add_kernel_0"};

/// The tensors of each kernel, in the order of its arguments.
inline const std::vector<std::pair<std::string, Lines>> kCudaTensors = {
    {"aoti_torch_cuda_addmm_out", {"buf0", "l1_bias", "arg2_1", "l1_weight"}},
    {"triton_poi_fused_relu_0", {"buf1", "l1_bias"}},
    {"triton_poi_fused_gt_arange_1", {"buf1", "buf2", "buf3"}},
    {"triton_poi_fused_sqrt_2", {"arg2_1", "buf4"}},
    {"triton_poi_fused_add_3", {"buf1", "buf4", "buf5"}},
    {"add_kernel_0", {"buf5", "buf6"}},
};

/// The first lines of findings, without brackets and numbers.
inline Lines titles(const Lines& log) {
    Lines found;
    for (const std::string& line : log) {
        if (line.rfind("[ finding ", 0) != 0) continue;
        const std::size_t begin = line.find(": ") + 2;
        found.push_back(line.substr(begin, line.size() - begin - 2));
    }
    return found;
}

using Values = std::vector<double>;

/// The tensors of run number `number` of a model whose weight is `factor` times the identity matrix.
struct CudaRun {
    explicit CudaRun(double factor, int number = 0) {
        const double step = number + 1;
        for (int i = 0; i < kElements; ++i) {
            const double x = i % 5 == 3 ? -step : (i % 4 * step) * (i % 4 * step);
            const double added = 0.5 * (i % kColumns % 4);
            const double product = factor * x + added;
            const double rectified = std::max(product + added, 0.0);
            arg2_1.push_back(x);
            addmm.push_back(product);
            relu.push_back(rectified);
            mask.push_back(rectified > 2 ? 1 : 0);
            root.push_back(std::sqrt(x));
            sum.push_back(rectified + root.back());
            scaled.push_back(0.5 * sum.back());
        }
        for (int i = 0; i < kColumns; ++i)
            bias.push_back(0.5 * (i % 4));
        weight.assign(kColumns * kColumns, 0.0);
        for (int i = 0; i < kColumns; ++i)
            weight[static_cast<std::size_t>(i * kColumns + i)] = factor;
    }

    Values arg2_1, bias, weight, addmm, relu, mask, root, sum, scaled;
};

/// The index tensor has integers that no double can represent: 2^53 and up.
inline const std::string kSmallestIndex = std::to_string(std::int64_t{1} << 53U);
inline const std::string kLargestIndex = std::to_string((std::int64_t{1} << 53U) + kElements - 1);

/// Where the input of the captured square root ends.
inline std::uint64_t end_of_input(const std::filesystem::path& out) {
    const std::string launch = read_text(out / "launches" / "run0000-call0003.json");
    const std::string before = R"("address":"0x)";
    const std::string address = launch.substr(launch.find(before) + before.size(), 16);
    return std::stoull(address, nullptr, 16) + kElements * sizeof(float);
}

/// Returns what `make` captures once a read past the end of that input is as silent in a replay as in the
/// program. It is not if a page of the software driver ends there. The system places the heap anew each time.
template <typename Make>
auto captured_within_page(Make make) {
    constexpr std::uint64_t kPage = std::uint64_t{64} << 10U;
    auto captured = make();
    for (int tries = 0; tries < 20 && end_of_input(captured->out()) % kPage == 0; ++tries)
        captured = make();
    return captured;
}

}  // namespace aoti_dbg::test
