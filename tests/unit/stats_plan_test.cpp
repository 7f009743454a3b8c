// From tensors to a launch: every job has its blocks, nothing overflows, and what does not fit is refused.
#include <cstddef>

#include "stats_kernels/device_code.hpp"
#include "stats_kernels/launch_plan.hpp"
#include "tests/support/catch.hpp"
#include "tests/unit/stats_samples.hpp"

using namespace aoti_dbg;
using namespace stats_fixture;

namespace {

constexpr DeviceLimits kLimits{132, 4};

DeviceJob job_of(DType dtype, std::uint64_t count, Wanted wanted = Wanted::printed) {
    DeviceJob job;
    job.dtype = dtype;
    job.count = count;
    job.wanted = wanted;
    return job;
}

std::uint32_t blocks_of(DType dtype, std::uint64_t count) {
    DeviceJob job = job_of(dtype, count);
    return plan_launch({&job, 1}, kLimits);
}

}  // namespace

TEST_CASE("A tensor without elements gets a block, since a result is due") {
    CHECK(blocks_of(DType::float32, 0) == 1);
    CHECK(plan_launch({}, kLimits) == 0);
    DeviceJob job = job_of(DType::int8, 1U << 30U, Wanted::findings);
    CHECK(plan_launch({&job, 1}, kLimits) == 1);
}

TEST_CASE("A small tensor is spread out, a large one fills the device once") {
    CHECK(blocks_of(DType::float16, 100) == 1);
    CHECK(blocks_of(DType::float16, 1U << 19U) == 64);
    CHECK(blocks_of(DType::float32, 1U << 28U) == 528);
    CHECK(blocks_of(DType::complex128, UINT64_MAX / 16) == 528);
}

TEST_CASE("Blocks follow one another and stay within what the scratch buffer is for") {
    Random random(5);
    for (int round = 0; round < 300; ++round) {
        std::vector<DeviceJob> jobs(1 + below(random, 100));
        for (DeviceJob& job : jobs)
            job =
                job_of(static_cast<DType>(below(random, kDTypes)), below(random, 1ULL << below(random, 40)));
        const DeviceLimits limits{1 + static_cast<std::uint32_t>(below(random, 200)), 4};
        const std::uint32_t grid = plan_launch(jobs, limits);
        std::uint32_t next = 0;
        for (const DeviceJob& job : jobs) {
            REQUIRE(job.first_block == next);
            REQUIRE(job.blocks > 0);
            next += job.blocks;
        }
        REQUIRE(grid == next);
        REQUIRE(grid <= most_blocks(static_cast<std::uint32_t>(jobs.size()), limits));
    }
}

TEST_CASE("Small tensors get few blocks, a large one all that the device holds") {
    const auto blocks_of = [](std::int64_t bytes, std::uint32_t tensors) {
        StatisticsLaunch launch;
        JobTable table = near_table(launch);
        const std::int64_t sizes[] = {bytes / 2};
        const std::int64_t strides[] = {1};
        for (std::uint32_t i = 0; i < tensors; ++i)
            REQUIRE(add_job(table, {nullptr, DType::float16, sizes, strides}, Wanted::printed, 0));
        plan_launch({launch.near_jobs, tensors}, DeviceLimits{132, 4});
        return launch.near_jobs[tensors - 1].blocks;
    };
    CHECK(blocks_of(4096, 8) == 1);
    CHECK(blocks_of(64 << 10, 8) == 4);
    CHECK(blocks_of(512 << 10, 3) == 32);
    CHECK(blocks_of(4 << 20, 8) == 32);  // so many as one warp merges
    CHECK(blocks_of(4 << 20, 3) == 88);
    CHECK(blocks_of(1 << 30, 1) == 528);
}

TEST_CASE("What does not fit into a table is refused, and changes nothing") {
    StatisticsLaunch launch;
    JobTable table = near_table(launch);
    Sample contiguous;
    contiguous.sizes = {4};
    contiguous.strides = {1};
    Sample strided;
    strided.sizes.assign(20, 2);
    strided.strides.assign(20, 1);
    REQUIRE(add_job(table, strided.view(), Wanted::indices, 0x1000));
    CHECK(launch.near_jobs[0].rank == 20);
    CHECK_FALSE(add_job(table, strided.view(), Wanted::indices, 0x1000));
    CHECK(table.used_jobs == 1);
    CHECK(table.used_dims == 20);
    for (std::uint32_t i = 1; i < kNearJobs; ++i)
        CHECK(add_job(table, contiguous.view(), Wanted::indices, 0x1000));
    CHECK_FALSE(add_job(table, contiguous.view(), Wanted::indices, 0x1000));
}

TEST_CASE("A transposed tensor is walked as it lies, unless the order matters") {
    StatisticsLaunch launch;
    JobTable table = near_table(launch);
    Sample transposed;
    transposed.sizes = {30, 40};
    transposed.strides = {1, 30};
    REQUIRE(add_job(table, transposed.view(), Wanted::printed | Wanted::findings, 0));
    REQUIRE(add_job(table, transposed.view(), Wanted::hash, 0));
    CHECK(launch.near_jobs[0].rank == 0);
    CHECK(launch.near_jobs[1].rank == 2);
    CHECK(launch.near_dims[1].stride == 30);
}

TEST_CASE("The launch fits into a kernel's parameters, the structs are those of the device") {
    CHECK(sizeof(StatisticsLaunch) <= 1024);
    CHECK(offsetof(DeviceResult, sequence) == 264);
    CHECK(alignof(DeviceResult) == 16);
    CHECK(scratch_bytes(3) == kScratchCounterBytes + 3 * sizeof(DeviceResult));
}

TEST_CASE("Device code is a fatbin, or there is none") {
    if (!has_device_code()) {
        CHECK(device_code().empty());
        return;
    }
    std::uint32_t magic = 0;
    REQUIRE(device_code().size() > 4096);
    std::memcpy(&magic, device_code().data(), sizeof(magic));
    CHECK(magic == 0xba55ed50U);
    CHECK(reinterpret_cast<std::uintptr_t>(device_code().data()) % 16 == 0);
}
