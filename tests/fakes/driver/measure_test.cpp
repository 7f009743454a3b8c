// Tests the substitute for the library's device code: it computes the defined statistics in stream order and
// faults where a GPU would. Other tests of measuring depend on it.
#ifndef __CUDA_API_VERSION_INTERNAL
#define __CUDA_API_VERSION_INTERNAL
#endif
#include <cuda.h>

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "stats_kernels/cpu_statistics.hpp"
#include "stats_kernels/device_code.hpp"
#include "stats_kernels/launch_plan.hpp"
#include "tests/fakes/driver/fake_cuda_control.h"
#include "tests/support/catch.hpp"

namespace aoti_dbg {
namespace {

constexpr unsigned char kFatbin[16] = {0x50, 0xED, 0x55, 0xBA, 1, 0, 16, 0};
constexpr DeviceLimits kLimits{4, 4};

/// A new context with our module, a stream, and memory for results.
class Device {
  public:
    Device() {
        REQUIRE(cuInit(0) == CUDA_SUCCESS);
        REQUIRE(cuCtxCreate_v2(&context_, 0, 0) == CUDA_SUCCESS);
        REQUIRE(cuModuleLoadData(&module, kFatbin) == CUDA_SUCCESS);
        REQUIRE(cuModuleGetFunction(&statistics, module, kStatisticsKernel) == CUDA_SUCCESS);
        REQUIRE(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
        REQUIRE(cuMemHostRegister_v2(lines, sizeof(lines), 0) == CUDA_SUCCESS);
        REQUIRE(cuCtxSynchronize() == CUDA_SUCCESS);
    }
    Device(const Device&) = delete;
    Device& operator=(const Device&) = delete;
    ~Device() { cuCtxDestroy_v2(context_); }

    static CUdeviceptr memory(std::size_t bytes) {
        CUdeviceptr address = 0;
        REQUIRE(cuMemAlloc_v2(&address, bytes) == CUDA_SUCCESS);
        return address;
    }

    template <typename T>
    static CUdeviceptr upload(const std::vector<T>& values) {
        const CUdeviceptr address = memory(values.size() * sizeof(T));
        REQUIRE(cuMemcpyHtoD_v2(address, values.data(), values.size() * sizeof(T)) == CUDA_SUCCESS);
        return address;
    }

    /// Adds a job with its lines at `place`. Plans the blocks unless `blocks` is given.
    bool add(StatisticsLaunch& parameters, const TensorView& view, Requested requested, std::size_t place = 0,
             std::uint32_t blocks = 0) {
        if (blocks == 0) blocks = blocks_for(view.dtype, element_count(view.sizes), requested, kLimits);
        REQUIRE(place + shape_of(view, requested, blocks).lines() <= std::size(lines));
        parameters.sequence = 7;
        return add_job(parameters, view, requested, blocks, reinterpret_cast<std::uint64_t>(&lines[place]));
    }

    CUresult launch(StatisticsLaunch& parameters, unsigned more_blocks = 0) const {
        void* arguments[] = {&parameters};
        return cuLaunchKernel(statistics, parameters.blocks + more_blocks, 1, 1, kBlockThreads, 1, 1, 0,
                              stream, arguments, nullptr);
    }

    /// Launches, waits and returns the context's error.
    CUresult run(StatisticsLaunch& parameters) const {
        const CUresult launched = launch(parameters);
        return launched != CUDA_SUCCESS ? launched : cuStreamSynchronize(stream);
    }

    Gathered gathered(const TensorView& view, Requested requested, TensorPartial& partial,
                      std::size_t place = 0, std::uint32_t blocks = 0) const {
        if (blocks == 0) blocks = blocks_for(view.dtype, element_count(view.sizes), requested, kLimits);
        return gather(&lines[place], shape_of(view, requested, blocks), 7, partial);
    }

    CUmodule module = nullptr;
    CUfunction statistics = nullptr;
    CUstream stream = nullptr;
    ResultLine lines[256];

  private:
    CUcontext context_ = nullptr;
};

TensorView view_of(CUdeviceptr data, DType dtype, std::span<const std::int64_t> sizes,
                   std::span<const std::int64_t> strides) {
    return {reinterpret_cast<const void*>(data), dtype, sizes, strides};
}

constexpr std::int64_t kHundred[] = {100};
constexpr std::int64_t kOne[] = {1};
constexpr Requested kAll = Requested::printed | Requested::indices | Requested::hash;

/// Compares everything that is exact.
bool same(const TensorPartial& one, const TensorPartial& other) {
    const auto exact = [](PartialStatistics part) {
        part.mean = part.m2 = 0;
        return std::bit_cast<std::array<std::uint64_t, sizeof(part) / sizeof(std::uint64_t)>>(part);
    };
    return exact(one.parts[0]) == exact(other.parts[0]) && exact(one.parts[1]) == exact(other.parts[1]) &&
           one.hash == other.hash;
}

TEST_CASE("A fatbin contains only our kernel, with one parameter") {
    const Device device;
    std::size_t offset = 1;
    std::size_t size = 0;
    CHECK(cuFuncGetParamInfo(device.statistics, 0, &offset, &size) == CUDA_SUCCESS);
    CHECK(offset == 0);
    CHECK(size == sizeof(StatisticsLaunch));
    CHECK(cuFuncGetParamInfo(device.statistics, 1, &offset, &size) == CUDA_ERROR_INVALID_VALUE);
    CUfunction other = nullptr;
    CHECK(cuModuleGetFunction(&other, device.module, "aoti_dbg_no_such") == CUDA_ERROR_NOT_FOUND);
}

TEST_CASE(
    "One launch measures tensors of several dtypes and layouts as the CPU does, and is not counted as a "
    "launch") {
    Device device;
    std::vector<float> floats(100);
    std::vector<std::int64_t> integers(100);
    for (int i = 0; i < 100; ++i) {
        floats[static_cast<std::size_t>(i)] = static_cast<float>(i) * 0.25F;
        integers[static_cast<std::size_t>(i)] = i - 50;
    }
    floats[17] = std::numeric_limits<float>::quiet_NaN();
    const std::int64_t sizes[] = {10, 5};
    const std::int64_t strides[] = {1, 20};
    const TensorView views[] = {view_of(Device::upload(floats), DType::float32, kHundred, kOne),
                                view_of(Device::upload(integers), DType::int64, sizes, strides)};
    for (const std::uint32_t blocks : {1U, 5U}) {
        CAPTURE(blocks);
        StatisticsLaunch parameters;
        for (std::size_t i = 0; i < 2; ++i)
            REQUIRE(device.add(parameters, views[i], kAll, i * 100, blocks));
        const std::uint64_t before = fake_cuda_launches();
        REQUIRE(device.run(parameters) == CUDA_SUCCESS);
        CHECK(fake_cuda_launches() == before);
        CHECK(fake_cuda_fatbin_launches() > 0);
        for (std::size_t i = 0; i < 2; ++i) {
            CAPTURE(i);
            TensorPartial partial;
            REQUIRE(device.gathered(views[i], kAll, partial, i * 100, blocks) == Gathered::whole);
            CHECK(same(partial, measure_range(views[i], kAll, 0, element_count(views[i].sizes))));
            if (i == 0) CHECK(partial.parts[0].first_nan == 17);
        }
    }
}

TEST_CASE("Unallocated memory makes the kernel fault, breaks the context and yields no result") {
    Device device;
    const CUdeviceptr data = Device::upload(std::vector<float>(100, 1.0F));
    StatisticsLaunch parameters;
    TensorView view = view_of(data, DType::float32, kHundred, kOne);
    std::string said;
    const std::int64_t longer[] = {101};
    const std::int64_t sparse[] = {2};

    SECTION("The memory was freed") {
        REQUIRE(cuMemFree_v2(data) == CUDA_SUCCESS);
        said = "is not allocated";
    }
    SECTION("The memory was never allocated") {
        view.data = reinterpret_cast<const void*>(std::uintptr_t{4096});
        said = "is not allocated";
    }
    SECTION("The tensor is one element longer than the allocation") {
        view.sizes = longer;
        said = "is not allocated";
    }
    SECTION("The strides lead out of the allocation") {
        view.strides = sparse;
        said = "is not allocated";
    }
    SECTION("The result lines were unregistered") {
        REQUIRE(cuMemHostUnregister(device.lines) == CUDA_SUCCESS);
        said = "no memory for its lines";
    }
    REQUIRE(device.add(parameters, view, kAll));
    SECTION("The result lines are not aligned") {
        parameters.job[0].lines += 8;
        said = "no memory for its lines";
    }
    CHECK(device.run(parameters) == CUDA_ERROR_ILLEGAL_ADDRESS);
    CHECK(cuCtxSynchronize() == CUDA_ERROR_ILLEGAL_ADDRESS);
    CHECK(device.lines[0].sequence == 0);
    CHECK(std::string(fake_cuda_fault_text()).find(said) != std::string::npos);
}

TEST_CASE("A grid that differs from the launch's blocks faults") {
    Device device;
    StatisticsLaunch parameters;
    REQUIRE(device.add(
        parameters, view_of(Device::upload(std::vector<float>(100)), DType::float32, kHundred, kOne), kAll));
    CHECK(device.launch(parameters, 1) == CUDA_SUCCESS);
    CHECK(cuStreamSynchronize(device.stream) == CUDA_ERROR_ILLEGAL_ADDRESS);
}

TEST_CASE("Rows of incomplete groups fault if the job claims whole groups") {
    Device device;
    StatisticsLaunch parameters;
    const std::int64_t sizes[] = {4, 6};
    const std::int64_t strides[] = {10, 1};
    REQUIRE(device.add(
        parameters, view_of(Device::upload(std::vector<float>(100)), DType::float32, sizes, strides), kAll));
    CHECK(device.run(parameters) == CUDA_SUCCESS);
    parameters.job[0].strided_load = StridedLoad::groups;
    CHECK(device.run(parameters) == CUDA_ERROR_ILLEGAL_ADDRESS);
}

TEST_CASE("A launch returns at once, and the result appears in stream order") {
    Device device;
    const CUdeviceptr data = Device::upload(std::vector<float>(100, 1.0F));
    const TensorView view = view_of(data, DType::float32, kHundred, kOne);
    StatisticsLaunch parameters;
    TensorPartial partial;
    REQUIRE(device.add(parameters, view, kAll));
    fake_cuda_hold_stream(device.stream);
    REQUIRE(cuMemsetD32Async(data, 0, 50, device.stream) == CUDA_SUCCESS);
    REQUIRE(device.launch(parameters) == CUDA_SUCCESS);
    REQUIRE(cuMemsetD32Async(data, 0, 100, device.stream) == CUDA_SUCCESS);
    parameters = {};  // the launch has its own copy
    CHECK(cuStreamQuery(device.stream) == CUDA_ERROR_NOT_READY);
    CHECK(device.gathered(view, kAll, partial) == Gathered::not_yet);
    fake_cuda_release_stream(device.stream);
    REQUIRE(cuStreamSynchronize(device.stream) == CUDA_SUCCESS);
    REQUIRE(device.gathered(view, kAll, partial) == Gathered::whole);
    CHECK(partial.parts[0].zeros == 50);
}

TEST_CASE("Launches of one kernel can be refused without affecting others") {
    Device device;
    StatisticsLaunch parameters;
    REQUIRE(device.add(
        parameters, view_of(Device::upload(std::vector<float>(100)), DType::float32, kHundred, kOne), kAll));
    fake_cuda_refuse("somebody_elses", CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
    CHECK(device.run(parameters) == CUDA_SUCCESS);
    fake_cuda_refuse(kStatisticsKernel, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
    CHECK(device.run(parameters) == CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
    fake_cuda_refuse(nullptr, 0);
    CHECK(device.run(parameters) == CUDA_SUCCESS);
}

TEST_CASE("Elements of a small tensor are copied in logical order") {
    Device device;
    std::vector<std::int32_t> numbers(12);
    for (std::size_t i = 0; i < 12; ++i)
        numbers[i] = static_cast<std::int32_t>(i);
    const std::int64_t sizes[] = {3, 4};
    const std::int64_t strides[] = {1, 3};
    const TensorView view = view_of(Device::upload(numbers), DType::int32, sizes, strides);
    StatisticsLaunch parameters;
    REQUIRE(device.add(parameters, view, Requested::printed));
    REQUIRE(device.run(parameters) == CUDA_SUCCESS);
    std::vector<std::int32_t> brought(12);
    REQUIRE(gather_values(device.lines, shape_of(view, Requested::printed, 1), 7,
                          std::as_writable_bytes(std::span(brought))));
    CHECK(brought == std::vector<std::int32_t>{0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11});
}

TEST_CASE(
    "During a capture, a query of the legacy stream only fails, but work there invalidates the capture") {
    const Device device;
    CUstream blocking = nullptr;
    CUgraph graph = nullptr;
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    REQUIRE(cuStreamCreate(&blocking, 0) == CUDA_SUCCESS);
    REQUIRE(cuStreamBeginCapture_v2(blocking, CU_STREAM_CAPTURE_MODE_RELAXED) == CUDA_SUCCESS);
    CHECK(cuStreamIsCapturing(nullptr, &status) == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    CHECK(cuStreamIsCapturing(blocking, &status) == CUDA_SUCCESS);
    CHECK(status == CU_STREAM_CAPTURE_STATUS_ACTIVE);
    CHECK(cuMemsetD8Async(Device::memory(4), 0, 4, nullptr) == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    CHECK(cuStreamEndCapture(blocking, &graph) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

}  // namespace
}  // namespace aoti_dbg
