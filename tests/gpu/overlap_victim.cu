// A pair of kernels that asks to overlap (programmatic dependent launch), with the statistics kernel between
// them. Launched as the library launches it, it must not keep the second from starting early, and it must
// measure what the first writes last. Launched plainly, it must, or this test could not fail.
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>

#include "tests/gpu/stats_device.hpp"

namespace {

using namespace stats_device;

constexpr unsigned kThreads = 256;
constexpr std::uint64_t kSpin = 3'000'000;  // nanoseconds
constexpr float kValue = 7;

struct Times {
    std::uint64_t first_ended;
    std::uint64_t second_began;
    float second_saw;
};

__device__ std::uint64_t now() {
    std::uint64_t time = 0;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(time));
    return time;
}

__global__ void first(float* data, Times* times) {
    asm volatile("griddepcontrol.launch_dependents;");
    const std::uint64_t began = now();
    while (now() - began < kSpin) {
    }
    data[threadIdx.x] = kValue;
    __syncthreads();
    if (threadIdx.x == 0) times->first_ended = now();
}

__global__ void second(const float* data, Times* times) {
    if (threadIdx.x == 0) times->second_began = now();
    asm volatile("griddepcontrol.wait;" ::: "memory");
    if (threadIdx.x == 0) times->second_saw = data[kThreads - 1];
}

enum class Between { nothing, overlapping, plain };

void check(cudaError_t result, const char* what) {
    if (result != cudaSuccess) fail(what, result);
}

void launch_second(cudaStream_t stream, const float* data, Times* times) {
    cudaLaunchAttribute attribute{};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config{};
    config.gridDim = 1;
    config.blockDim = kThreads;
    config.stream = stream;
    config.attrs = &attribute;
    config.numAttrs = 1;
    check(cudaLaunchKernelEx(&config, second, data, times), "cudaLaunchKernelEx");
}

/// Returns whether the second kernel began before the first one ended.
bool overlaps(const Device& device, Between between) {
    const DeviceMemory memory(kThreads * sizeof(float));
    memory.clear(kThreads * sizeof(float));
    auto* const data = reinterpret_cast<float*>(memory.address());
    Mapped<Times> times(1);
    auto* const times_there = reinterpret_cast<Times*>(times.address(0));
    Mapped<ResultLine> lines(4096);

    const std::int64_t sizes[] = {kThreads};
    const std::int64_t strides[] = {1};
    const TensorView view{memory.pointer(), DType::float32, sizes, strides};
    StatisticsLaunch launch{};
    launch.sequence = 1;
    const std::uint32_t blocks = blocks_for(view.dtype, kThreads, Requested::printed, device.limits());
    if (!add_job(launch, view, Requested::printed, blocks, lines.address(0))) fail("add_job", 0);

    cudaStream_t stream = nullptr;
    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    first<<<1, kThreads, 0, stream>>>(data, times_there);
    if (between == Between::overlapping) device.launch_overlapping(launch, stream);
    if (between == Between::plain) device.launch(launch, stream);
    launch_second(stream, data, times_there);
    check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    if (between != Between::nothing) {
        const TensorStatistics measured =
            finish(await(&lines[0], shape_of(view, Requested::printed, blocks), 1), view, Requested::printed);
        if (measured.real.all.mean != kValue) fail("the statistics kernel did not wait", 0);
    }
    if (times[0].second_saw != kValue) fail("the second kernel did not wait", 0);
    check(cudaStreamDestroy(stream), "cudaStreamDestroy");
    return times[0].second_began < times[0].first_ended;
}

}  // namespace

int main() {
    cudaDeviceProp device_is{};
    check(cudaGetDeviceProperties(&device_is, 0), "cudaGetDeviceProperties");
    if (device_is.major < 9) {
        std::puts("skipped: this GPU has no programmatic dependent launch");
        return 77;
    }
    const Device device;
    overlaps(device, Between::nothing);  // loads the kernels, which waits
    const bool alone = overlaps(device, Between::nothing);
    const bool with_ours = overlaps(device, Between::overlapping);
    const bool with_plain = overlaps(device, Between::plain);
    std::printf("overlap: alone %d, with statistics %d, with a plain launch between %d\n", alone, with_ours,
                with_plain);
    return alone && with_ours && !with_plain ? 0 : 1;
}
