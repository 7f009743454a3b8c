// From tensors to a launch: every job has its blocks, nothing overflows, and jobs that do not fit are
// refused.
#include <cstddef>
#include <cstring>

#include "stats_kernels/device_code.hpp"
#include "stats_kernels/launch_plan.hpp"
#include "tests/support/catch.hpp"
#include "tests/unit/stats_judge.hpp"

namespace aoti_dbg::stats_plan_test {

using namespace stats_fixture;

namespace {

constexpr DeviceLimits kLimits{132, 4};

std::uint32_t blocks_of(DType dtype, std::uint64_t count, Requested requested = Requested::printed) {
    return blocks_for(dtype, count, requested, kLimits);
}

}  // namespace

TEST_CASE("A tensor without elements gets a block, because it needs a result") {
    CHECK(blocks_of(DType::float32, 0) == 1);
    CHECK(blocks_of(DType::int8, 1U << 30U, Requested::findings) == 1);
    CHECK(blocks_of(DType::float4_e2m1fn_x2, 1U << 30U, Requested::findings) == 1);
    CHECK(blocks_of(DType::float4_e2m1fn_x2, 1U << 30U) == blocks_of(DType::int8, 1U << 30U));
}

TEST_CASE("A small tensor is spread over blocks, and a large one fills the device once") {
    CHECK(blocks_of(DType::float16, 100) == 1);
    CHECK(blocks_of(DType::float16, 32 << 10) == 4);
    CHECK(blocks_of(DType::float16, 1U << 18U) == 32);
    CHECK(blocks_of(DType::float16, 1U << 20U) == 64);
    CHECK(blocks_of(DType::float16, 1U << 24U) == 256);
    CHECK(blocks_of(DType::float32, 1U << 28U) == 528);
    CHECK(blocks_of(DType::complex128, UINT64_MAX / 16) == 528);
}

TEST_CASE("No tensor gets more blocks than the device can run at once, whatever the device") {
    Engine random(5);
    for (int round = 0; round < 300; ++round) {
        const DeviceLimits limits{1 + static_cast<std::uint32_t>(below(random, 200)), 4};
        const std::uint32_t blocks =
            blocks_for(static_cast<DType>(below(random, kDTypes)), below(random, 1ULL << below(random, 60)),
                       kEverything, limits);
        REQUIRE(blocks >= 1);
        REQUIRE(blocks <= limits.multiprocessors * limits.blocks_per_multiprocessor);
    }
}

TEST_CASE("Blocks of a launch's jobs follow one another") {
    StatisticsLaunch launch;
    Sample tensor;
    tensor.sizes = {4};
    tensor.strides = {1};
    for (const std::uint32_t blocks : {1U, 7U, 500U})
        REQUIRE(add_job(launch, tensor.view(), Requested::printed, blocks, 0));
    CHECK(launch.job[0].first_block == 0);
    CHECK(launch.job[1].first_block == 1);
    CHECK(launch.job[2].first_block == 8);
    CHECK(launch.job[2].blocks == 500);
    CHECK(launch.blocks == 508);
}

TEST_CASE("A job that does not fit into a launch is refused, and changes nothing") {
    StatisticsLaunch launch;
    Sample contiguous;
    contiguous.sizes = {4};
    contiguous.strides = {1};
    Sample strided;
    strided.sizes.assign(30, 2);
    strided.strides.assign(30, 1);
    REQUIRE(add_job(launch, strided.view(), Requested::indices, 1, 0x1000));
    CHECK(launch.job[0].rank == 30);
    REQUIRE(add_job(launch, strided.view(), Requested::indices, 1, 0x1000));
    REQUIRE(add_job(launch, strided.view(), Requested::indices, 1, 0x1000));
    CHECK_FALSE(add_job(launch, strided.view(), Requested::indices, 1, 0x1000));
    CHECK(launch.jobs == 3);
    CHECK(launch.dims == 90);
    CHECK(launch.blocks == 3);
    for (std::uint32_t i = 3; i < kMostJobs; ++i)
        CHECK(add_job(launch, contiguous.view(), Requested::indices, 1, 0x1000));
    CHECK_FALSE(add_job(launch, contiguous.view(), Requested::indices, 1, 0x1000));
}

TEST_CASE("A transposed tensor is read in memory order, unless order matters or its elements are returned") {
    StatisticsLaunch launch;
    Sample transposed;
    transposed.sizes = {30, 40};
    transposed.strides = {1, 30};
    Sample few;
    few.sizes = {3, 4};
    few.strides = {1, 3};
    REQUIRE(add_job(launch, transposed.view(), Requested::printed | Requested::findings, 1, 0));
    REQUIRE(add_job(launch, transposed.view(), Requested::hash, 1, 0));
    REQUIRE(add_job(launch, few.view(), Requested::printed, 1, 0));
    CHECK(launch.job[0].rank == 0);
    CHECK(launch.job[1].rank == 2);
    CHECK(launch.dim[1].stride == 30);
    CHECK(launch.job[2].rank == 2);
}

TEST_CASE("Rows of whole groups of 16 bytes are recognized") {
    const auto is_in_groups = [](std::vector<std::int64_t> sizes, std::vector<std::int64_t> strides,
                                 std::uintptr_t data = 4096) {
        StatisticsLaunch launch;
        const TensorView view{reinterpret_cast<const void*>(data), DType::float16, sizes, strides};
        REQUIRE(add_job(launch, view, Requested::indices, 1, 0));
        return launch.job[0].strided_load == StridedLoad::groups;
    };
    CHECK(is_in_groups({10, 64}, {192, 1}));
    CHECK(is_in_groups({10, 3, 64}, {1920, 192, 1}));
    CHECK_FALSE(is_in_groups({10, 64}, {64, 1}));  // contiguous: no rows at all
    CHECK_FALSE(is_in_groups({10, 60}, {192, 1}));
    CHECK_FALSE(is_in_groups({10, 64}, {196, 1}));
    CHECK_FALSE(is_in_groups({10, 64}, {192, 2}));
    CHECK_FALSE(is_in_groups({10, 64}, {192, 1}, 4104));
}

TEST_CASE("Transposed tensors that whole patches cover are recognized") {
    const auto is_in_patches = [](std::vector<std::int64_t> sizes, std::vector<std::int64_t> strides,
                                  std::uintptr_t data = 4096, MathBits bits = {}) {
        StatisticsLaunch launch;
        TensorView view{reinterpret_cast<const void*>(data), DType::float16, sizes, strides};
        view.bits = bits;
        REQUIRE(add_job(launch, view, Requested::hash, 1, 0));
        return launch.job[0].strided_load == StridedLoad::patches;
    };
    CHECK(is_in_patches({64, 128}, {1, 64}));
    CHECK(is_in_patches({64, 128}, {1, 72}));
    CHECK(is_in_patches({3, 128, 256}, {128 * 256, 1, 128}));
    CHECK(is_in_patches({2, 3, 64, 128}, {64, 128 * 128, 1, 128}));
    CHECK_FALSE(is_in_patches({64, 128}, {1, 68}));
    CHECK_FALSE(is_in_patches({32, 128}, {1, 32}));
    CHECK_FALSE(is_in_patches({64, 120}, {1, 64}));
    CHECK_FALSE(is_in_patches({64, 128}, {2, 128}));
    CHECK_FALSE(is_in_patches({128, 64, 128}, {1, 128, 128 * 64}));
    CHECK_FALSE(is_in_patches({64, 128}, {1, 64}, 4104));
    MathBits negative;
    negative.negative = true;
    CHECK_FALSE(is_in_patches({64, 128}, {1, 64}, 4096, negative));
}

TEST_CASE("The launch fits into a kernel's parameters") {
    CHECK(sizeof(StatisticsLaunch) <= 4096);
}

TEST_CASE("Device code is a fatbin, or does not exist") {
    for (const DeviceCode& code : {statistics_code(), save_code(), time_code()}) {
        CAPTURE(std::string(code.kernel));
        CHECK(code.fatbin.empty() == statistics_code().fatbin.empty());
        if (code.fatbin.empty()) continue;
        std::uint32_t magic = 0;
        REQUIRE(code.fatbin.size() > 512);
        std::memcpy(&magic, code.fatbin.data(), sizeof(magic));
        CHECK(magic == 0xba55ed50U);
        CHECK(reinterpret_cast<std::uintptr_t>(code.fatbin.data()) % 16 == 0);
    }
}

}  // namespace aoti_dbg::stats_plan_test
