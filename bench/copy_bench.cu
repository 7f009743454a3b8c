// Measures what copying tensors to the host costs on a GPU: our kernel, which copies and hashes, by blocks
// and sizes, beside the driver's copies to the same memory. It also compares hashing alone with a
// device-to-device copy. It asserts nothing.
//
//   LIBRARY=build/dev/stats_kernels/libaoti_dbg_stats_kernels.a
//   nvcc -std=c++20 -O3 -arch=native -I . -o copy_bench bench/copy_bench.cu $LIBRARY -ldl
#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <string>

#include "stats_kernels/save_job.hpp"
#include "tests/gpu/stats_device.hpp"

namespace {

using namespace aoti_dbg;
using namespace stats_device;

constexpr std::uint64_t kBytes = 1ULL << 30U;
constexpr std::uint64_t kPiece = 32ULL << 20U;  // of the default staging
constexpr int kRounds = 9;

/// Host memory, registered as the library registers it.
class Registered {
  public:
    explicit Registered(std::uint64_t bytes) {
        memory_ = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory_ == MAP_FAILED) fail("no memory", 0);
        madvise(memory_, bytes, MADV_HUGEPAGE);
        const auto began = std::chrono::steady_clock::now();
        STATS_DRIVER(cuMemHostRegister, memory_, bytes,
                     CU_MEMHOSTREGISTER_DEVICEMAP | CU_MEMHOSTREGISTER_PORTABLE);
        STATS_DRIVER(cuMemHostGetDevicePointer, &device_, memory_, 0);
        const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - began;
        std::printf("registering %llu MiB: %.1f ms\n", static_cast<unsigned long long>(bytes >> 20U),
                    took.count());
    }
    [[nodiscard]] void* host() const { return memory_; }
    [[nodiscard]] std::uint64_t device() const { return device_; }

  private:
    void* memory_ = nullptr;
    CUdeviceptr device_ = 0;
};

/// Returns the median time of `work` on the stream, in microseconds.
double time_of(CUstream stream, const std::function<void()>& work) {
    CUevent begin = nullptr;
    CUevent end = nullptr;
    STATS_DRIVER(cuEventCreate, &begin, CU_EVENT_DEFAULT);
    STATS_DRIVER(cuEventCreate, &end, CU_EVENT_DEFAULT);
    std::vector<double> times;
    for (int round = 0; round <= kRounds; ++round) {
        STATS_DRIVER(cuEventRecord, begin, stream);
        work();
        STATS_DRIVER(cuEventRecord, end, stream);
        STATS_DRIVER(cuEventSynchronize, end);
        float milliseconds = 0;
        STATS_DRIVER(cuEventElapsedTime, &milliseconds, begin, end);
        if (round > 0) times.push_back(milliseconds * 1000.0);
    }
    std::sort(times.begin(), times.end());
    return times[times.size() / 2];
}

void print_rate(const std::string& what, std::uint64_t bytes, double microseconds) {
    std::printf("%-52s %10.1f us %8.1f GB/s\n", what.c_str(), microseconds,
                static_cast<double>(bytes) / microseconds * 1e-3);
}

}  // namespace

int main() {
    const Device device(save_code());
    CUstream stream = nullptr;
    STATS_DRIVER(cuStreamCreate, &stream, CU_STREAM_NON_BLOCKING);
    const DeviceMemory memory(kBytes);
    const DeviceMemory other(kBytes);
    memory.clear(kBytes);
    const Registered to(8 * kPiece);
    const Mapped<ResultLine> lines(1U << 16U);
    SaveLaunch launch;
    launch.sequence = 1;
    // Launches jobs of `each` bytes, one after another, in as few launches as possible.
    const auto bring = [&](std::uint64_t all, std::uint64_t each, std::uint32_t blocks, bool copies) {
        for (std::uint64_t at = 0; at < all;) {
            launch.jobs = launch.blocks = 0;
            std::uint32_t line = 0;
            for (; at < all; at += each, line += blocks) {
                SaveJob job;
                job.data = memory.address() + at;
                job.bytes = each;
                job.to = copies ? to.device() + at % (8 * kPiece) : 0;
                job.lines = lines.address(line);
                job.blocks = blocks;
                if (!add_save_job(launch, job)) break;
            }
            device.launch(launch, stream);
        }
    };
    const auto copy = [&](std::uint64_t all, std::uint64_t each) {
        for (std::uint64_t at = 0; at < all; at += each)
            STATS_DRIVER(cuMemcpyDtoHAsync, static_cast<char*>(to.host()) + at % (8 * kPiece),
                         memory.address() + at, each, stream);
    };

    std::printf("\n1 GiB to the host, in pieces of 32 MiB:\n");
    print_rate("the driver's copies", kBytes, time_of(stream, [&] { copy(kBytes, kPiece); }));
    for (const std::uint32_t blocks : {8, 16, 32, 64, 132, 264, 528})
        print_rate("copied and hashed by " + std::to_string(blocks) + " blocks", kBytes,
                   time_of(stream, [&] { bring(kBytes, kPiece, blocks, true); }));

    std::printf("\n1 GiB on the device:\n");
    print_rate("a copy from device to device (bytes read)", kBytes, time_of(stream, [&] {
                   STATS_DRIVER(cuMemcpyDtoDAsync, other.address(), memory.address(), kBytes, stream);
               }));
    for (const std::uint32_t blocks : {132, 264, 528, 1056})
        print_rate("hashed by " + std::to_string(blocks) + " blocks", kBytes,
                   time_of(stream, [&] { bring(kBytes, kBytes, blocks, false); }));

    std::printf("\nSix tensors of a call:\n");
    for (const std::uint64_t each : {4096ULL, 65536ULL, 1048576ULL}) {
        const std::string size = std::to_string(each >> 10U) + " KiB each";
        print_rate("the driver's copies, " + size, 6 * each, time_of(stream, [&] { copy(6 * each, each); }));
        const std::uint32_t blocks = blocks_to_save(each, true, device.limits());
        print_rate("copied and hashed, " + size + ", " + std::to_string(blocks) + " blocks", 6 * each,
                   time_of(stream, [&] { bring(6 * each, each, blocks, true); }));
    }
    return 0;
}
