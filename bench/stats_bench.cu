// Measures statistics on a GPU: bandwidth over 1 GiB per dtype and set of statistics, beside a
// device-to-device copy and CUB's sum. It also measures one launch over a few small tensors. It asserts
// nothing.
//   stats_bench [TEXT...]     only lines that contain one of the texts
//
//   nvcc -std=c++20 -O3 -arch=native -I . -o stats_bench bench/stats_bench.cu \
//        build/dev/stats_kernels/libaoti_dbg_stats_kernels.a -ldl
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cub/device/device_reduce.cuh>
#include <memory>
#include <string>

#include "tests/gpu/stats_device.hpp"

namespace {

using namespace aoti_dbg;
using namespace stats_device;

constexpr std::uint64_t kBytes = 1ULL << 30U;
constexpr int kRounds = 15;

void must(cudaError_t error) {
    if (error != cudaSuccess) fail(cudaGetErrorName(error), static_cast<int>(error));
}

__global__ void fill_floats(float* data, std::uint64_t count) {
    for (std::uint64_t i = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x; i < count;
         i += std::uint64_t{gridDim.x} * blockDim.x) {
        const auto bits = static_cast<unsigned>((i + 1) * 0x9e3779b97f4a7c15ULL >> 40U);
        data[i] = static_cast<float>(bits) / 8388608.0F - 1.0F;
    }
}

__global__ void to_halves(const float* from, __half* to, std::uint64_t count) {
    for (std::uint64_t i = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x; i < count;
         i += std::uint64_t{gridDim.x} * blockDim.x)
        to[i] = __float2half(from[i % (count / 2)]);
}

/// With this bit cleared, no float8 is NaN.
__global__ void clear_bits(unsigned* data, std::uint64_t count, unsigned bits) {
    for (std::uint64_t i = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x; i < count;
         i += std::uint64_t{gridDim.x} * blockDim.x)
        data[i] &= ~bits;
}

/// Imitates an attention mask: every second row of 64 is -Inf.
__global__ void mask_halves(__half* data, std::uint64_t count) {
    for (std::uint64_t i = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x; i < count;
         i += std::uint64_t{gridDim.x} * blockDim.x)
        if (i / 64 % 2 == 1) data[i] = __ushort_as_half(0xfc00U);
}

__global__ void nothing() {}

/// Returns the median of kRounds, in milliseconds.
template <typename Work>
double median_ms(const Work& work) {
    cudaEvent_t begin = nullptr;
    cudaEvent_t end = nullptr;
    must(cudaEventCreate(&begin));
    must(cudaEventCreate(&end));
    work();
    work();
    std::vector<float> all;
    for (int i = 0; i < kRounds; ++i) {
        must(cudaEventRecord(begin));
        work();
        must(cudaEventRecord(end));
        must(cudaEventSynchronize(end));
        float ms = 0;
        must(cudaEventElapsedTime(&ms, begin, end));
        all.push_back(ms);
    }
    must(cudaEventDestroy(begin));
    must(cudaEventDestroy(end));
    std::sort(all.begin(), all.end());
    return all[all.size() / 2];
}

struct Add {
    template <typename A, typename B>
    __device__ float operator()(const A& a, const B& b) const {
        return static_cast<float>(a) + static_cast<float>(b);
    }
};

class Bench {
  public:
    explicit Bench(std::vector<std::string> texts) : texts_(std::move(texts)) {}

    void run() {
        must(cudaMalloc(&data_, kBytes));
        must(cudaMalloc(&other_, kBytes));
        const double copy_ms =
            median_ms([&] { must(cudaMemcpyAsync(other_, data_, kBytes, cudaMemcpyDeviceToDevice)); });
        copy_rate_ = 2 * static_cast<double>(kBytes) / copy_ms / 1e6;
        std::printf("device copy of 1 GiB: %.3f ms, %.0f GB/s read and written\n\n", copy_ms, copy_rate_);
        std::printf("%-9s %-28s %9s %8s %8s\n", "1 GiB of", "", "ms", "GB/s", "of copy");
        fill_floats<<<1024, 256>>>(static_cast<float*>(data_), kBytes / 4);
        kind<float>(DType::float32);
        to_halves<<<1024, 256>>>(static_cast<float*>(data_), static_cast<__half*>(other_), kBytes / 2);
        std::swap(data_, other_);
        kind<__half>(DType::float16);
        both(DType::bfloat16, "");
        kind<signed char>(DType::int8);
        for (const DType dtype : {DType::uint8, DType::int16, DType::uint16, DType::int32, DType::int64,
                                  DType::float64, DType::complex64, DType::boolean, DType::float4_e2m1fn_x2})
            both(dtype, "");
        transposed();
        std::printf("\n%-44s %9s %9s\n", "us a launch, 500 in a row", "stream", "graph");
        in_a_row("an empty kernel", [](CUstream stream) { nothing<<<1, 32, 0, stream>>>(); });
        for (const std::uint64_t bytes : {1ULL << 12U, 1ULL << 16U, 1ULL << 19U, 1ULL << 21U, 1ULL << 22U})
            for (const std::uint32_t tensors : {1U, 3U, 6U, 8U})
                launches(bytes, tensors, kPrinted);
        for (const Requested requested :
             {Requested::findings, kPrinted, kPrinted | Requested::indices, kAll}) {
            launches(1ULL << 12U, 3, requested);
            launches(1ULL << 16U, 3, requested);
            launches(10000, 3, requested);
            launches(1ULL << 19U, 3, requested);
        }
        std::printf("\n");
        clear_bits<<<1024, 256>>>(static_cast<unsigned*>(data_), kBytes / 4, 0x08080808U);
        both(DType::float8_e4m3fn, "");
        both(DType::float8_e5m2, "");
        both(DType::float8_e5m2fnuz, "");
        both(DType::float8_e8m0fnu, "");
        bandwidth(DType::float8_e4m3fn, "findings", Requested::findings);
        mask_halves<<<1024, 256>>>(static_cast<__half*>(data_), kBytes / 2);
        both(DType::float16, "half -Inf: ");
        bandwidth(DType::float16, "half -Inf: findings", Requested::findings);
    }

  private:
    static constexpr Requested kPrinted = Requested::findings | Requested::printed;
    static constexpr Requested kAll = kPrinted | Requested::indices | Requested::hash;
    static constexpr int kInARow = 500;

    template <typename T>
    void kind(DType dtype) {
        std::size_t bytes = 0;
        float* sum = nullptr;
        void* temporary = nullptr;
        const auto* data = static_cast<const T*>(data_);
        const auto count = static_cast<long long>(kBytes / sizeof(T));
        must(cudaMalloc(&sum, sizeof(float)));
        must(cub::DeviceReduce::Reduce(nullptr, bytes, data, sum, count, Add{}, 0.0F));
        must(cudaMalloc(&temporary, bytes));
        if (is_requested(dtype, "CUB, sum"))
            line(dtype, "CUB, sum", median_ms([&] {
                     must(cub::DeviceReduce::Reduce(temporary, bytes, data, sum, count, Add{}, 0.0F));
                 }));
        must(cudaFree(temporary));
        must(cudaFree(sum));
        bandwidth(dtype, "findings", Requested::findings);
        bandwidth(dtype, "printed", kPrinted);
        bandwidth(dtype, "printed, indices", Requested::findings | Requested::indices);
        bandwidth(dtype, "printed, indices, hash", kAll);
    }

    [[nodiscard]] bool is_requested(const std::string& line) const {
        return texts_.empty() || std::any_of(texts_.begin(), texts_.end(), [&](const std::string& text) {
                   return line.find(text) != std::string::npos;
               });
    }
    [[nodiscard]] bool is_requested(DType dtype, const char* what) const {
        return is_requested(std::string(dtype_name(dtype)) + " " + what);
    }

    void line(DType dtype, const char* what, double ms, double bytes = kBytes) const {
        const double rate = bytes / ms / 1e6;
        std::printf("%-9.9s %-28s %9.3f %8.0f %7.0f%%\n", dtype_name(dtype), what, ms, rate,
                    100 * rate / copy_rate_);
    }

    StatisticsLaunch launch_of(const TensorView& tensor, std::uint32_t tensors, Requested requested) {
        StatisticsLaunch launch;
        const std::uint32_t blocks =
            blocks_for(tensor.dtype, element_count(tensor.sizes), requested, device_.limits());
        const std::uint32_t lines = shape_of(tensor, requested, blocks).lines();
        for (std::uint32_t i = 0; i < tensors; ++i) {
            TensorView one = tensor;
            one.data = static_cast<const char*>(tensor.data) + i * (kBytes / 16);
            if ((i + 1) * lines > lines_.all().size() ||
                !add_job(launch, one, requested, blocks, lines_.address(std::size_t{i} * lines)))
                fail("a job does not fit", 0);
        }
        launch.sequence = 1;
        return launch;
    }

    void bandwidth(DType dtype, const char* what, Requested requested) {
        if (!is_requested(dtype, what)) return;
        const std::int64_t sizes[] = {static_cast<std::int64_t>(kBytes / element_size(dtype))};
        const std::int64_t strides[] = {1};
        StatisticsLaunch launch = launch_of({data_, dtype, sizes, strides}, 1, requested);
        line(dtype, what, median_ms([&] { device_.launch(launch, nullptr); }));
    }

    void both(DType dtype, const std::string& note) {
        bandwidth(dtype, (note + "printed").c_str(), kPrinted);
        bandwidth(dtype, (note + "everything").c_str(), kAll);
    }

    void transposed() {
        strided("transposed", {16384, 16384}, {1, 16384});
        strided("ragged, transposed", {16381, 16381}, {1, 16383});
        strided("rows of 100", {2684354, 25, 4}, {100, 1, 25});
        strided("every second", {16384, 8192}, {16384, 2});
    }

    void strided(const std::string& name, const std::vector<std::int64_t>& sizes,
                 const std::vector<std::int64_t>& strides) {
        for (const auto& [requested, what] :
             {std::pair(kPrinted, ", printed"), std::pair(kPrinted | Requested::hash, ", hash"),
              std::pair(kPrinted | Requested::indices, ", indices"), std::pair(kAll, ", everything")}) {
            if (!is_requested(DType::float32, (name + what).c_str())) continue;
            StatisticsLaunch launch = launch_of({data_, DType::float32, sizes, strides}, 1, requested);
            const double ms = median_ms([&] { device_.launch(launch, nullptr); });
            line(DType::float32, (name + what).c_str(), ms,
                 4 * static_cast<double>(element_count({sizes.data(), sizes.size()})));
        }
    }

    void launches(std::uint64_t bytes, std::uint32_t tensors, Requested requested) {
        const std::int64_t sizes[] = {static_cast<std::int64_t>(bytes / 2)};
        const std::int64_t strides[] = {1};
        StatisticsLaunch launch = launch_of({data_, DType::float16, sizes, strides}, tensors, requested);
        const char* what = wants(requested, Requested::hash)
                               ? "everything"
                               : (wants(requested, Requested::indices)
                                      ? "indices"
                                      : (wants(requested, Requested::printed) ? "printed" : "findings"));
        char text[96];
        std::snprintf(text, sizeof(text), "%u x %g KiB fp16, %u blocks, %s", tensors,
                      static_cast<double>(bytes) / 1024, launch.blocks, what);
        in_a_row(text, [&](CUstream stream) { device_.launch(launch, stream); });
    }

    /// Measures with a stream, which the host may fill too slowly, and with a graph, where only the GPU
    /// counts.
    template <typename Launch>
    void in_a_row(const char* text, const Launch& launch) {
        if (!is_requested(text)) return;
        cudaStream_t stream = nullptr;
        cudaGraph_t graph = nullptr;
        cudaGraphExec_t ready = nullptr;
        must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
        must(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
        for (int i = 0; i < kInARow; ++i)
            launch(stream);
        must(cudaStreamEndCapture(stream, &graph));
        must(cudaGraphInstantiate(&ready, graph, 0));
        const double by_graph = median_ms([&] { must(cudaGraphLaunch(ready, nullptr)); });
        const double by_stream = median_ms([&] {
            for (int i = 0; i < kInARow; ++i)
                launch(nullptr);
        });
        must(cudaGraphExecDestroy(ready));
        must(cudaGraphDestroy(graph));
        must(cudaStreamDestroy(stream));
        std::printf("%-44s %9.2f %9.2f\n", text, by_stream * 1000 / kInARow, by_graph * 1000 / kInARow);
    }

    std::vector<std::string> texts_;
    Device device_;
    Mapped<ResultLine> lines_{1U << 16U};
    void* data_ = nullptr;
    void* other_ = nullptr;
    double copy_rate_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
    Bench(std::vector<std::string>(argv + 1, argv + argc)).run();
    must(cudaDeviceSynchronize());
    return 0;
}
