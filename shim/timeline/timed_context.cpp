// See timed_context.hpp.
#include "shim/timeline/timed_context.hpp"

#include <sys/mman.h>

#include "shim/runtime/gpu_context.hpp"
#include "shim/runtime/launch_count.hpp"
#include "shim/runtime/names.hpp"
#include "stats_kernels/device_code.hpp"

namespace aoti_dbg {

const char* TimedContext::load(const DriverApi& api) {
    const DeviceCode code = time_code();
    if (code.fatbin.empty()) return "the library was built without nvcc";
    CUmodule module = nullptr;
    if (api.cuCtxGetDevice(&device_) != CUDA_SUCCESS ||
        api.cuModuleLoadData(&module, code.fatbin.data()) != CUDA_SUCCESS ||
        api.cuModuleGetFunction(&kernel_, module, code.kernel) != CUDA_SUCCESS)
        return "the driver cannot load the library's kernels";
    // Load it now, because loading at the first launch may wait for all work in the context.
    if (api.cuFuncLoad != nullptr) api.cuFuncLoad(kernel_);
    return nullptr;
}

const char* TimedContext::open_ring(const DriverApi& api) {
    constexpr std::size_t kBytes = kLaunches * sizeof(std::uint64_t);
    // The mapping outlives the context, so times stay readable after the context is destroyed.
    void* const memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return "out of memory";
    // A fork's child would otherwise keep its parent's pages, which the device writes to.
    madvise(memory, kBytes, MADV_DONTFORK);
    if (!register_memory(api, memory, kBytes, words_)) {
        munmap(memory, kBytes);
        return "the device cannot write to host memory";
    }
    memory_ = memory;
    ring_ = std::make_unique<MarkerRing>(std::span(static_cast<std::uint64_t*>(memory), kLaunches));
    return nullptr;
}

const char* TimedContext::set_up(const DriverApi& api) {
    const RelaxedCapture relaxed(api);
    const char* failed = load(api);
    if (failed == nullptr) failed = open_ring(api);
    is_usable_.store(failed == nullptr, std::memory_order_release);
    return failed;
}

bool TimedContext::survives(const DriverApi& api) {
    const RelaxedCapture relaxed(api);
    // The driver forgets the memory together with the context.
    CUdeviceptr device = 0;
    const bool is_known =
        memory_ != nullptr && api.cuMemHostGetDevicePointer_v2(&device, memory_, 0) == CUDA_SUCCESS;
    if (!is_known) end();
    is_uncertain_.store(false, std::memory_order_release);
    return is_known;
}

void TimedContext::mark(const DriverApi& api, CUstream stream, const MarkedLaunch& launch) {
    if (!is_usable_.load(std::memory_order_acquire) || has_failed_.load(std::memory_order_relaxed))
        return lose_one();
    const std::optional<std::uint64_t> position = ring_->add(launch);
    if (!position) return lose_one();
    const RelaxedCapture relaxed(api);
    CUdeviceptr word = words_ + ring_->word_of(*position) * sizeof(std::uint64_t);
    void* parameters[] = {&word};
    const LaunchNumber number = next_launch_number(stream);
    const CUresult result = api.cuLaunchKernel(kernel_, 1, 1, 1, 1, 1, 1, 0, stream, parameters, nullptr);
    if (result == CUDA_SUCCESS) return;
    take_back(number);
    ring_->take_back(*position);
    lose_one();
    if (is_end_of_context(result)) has_failed_.store(true, std::memory_order_relaxed);
}

std::uint64_t TimedContext::lost_if_over() const {
    const std::uint64_t lost = lost_.load(std::memory_order_relaxed);
    return is_usable_.load(std::memory_order_acquire) ? lost + ring_->unended() : lost;
}

void TimedContext::take_spans(bool at_once, std::uint64_t now, std::vector<DeviceSpan>& spans) {
    constexpr std::uint64_t kGood = 100'000;  // ns
    constexpr std::uint64_t kLongest = 100'000'000;
    if (ended_.empty() || !clock_.is_known()) return;
    is_clock_good_ =
        is_clock_good_ || at_once || clock_.uncertainty() <= kGood || now - held_since_ > kLongest;
    if (!is_clock_good_) return;
    for (const Ended& one : ended_) {
        const MarkedLaunch& launch = one.launch;
        const HostTimes times = ends_.add(launch.stream, launch.begun, one.time, clock_);
        spans.push_back({.kind = DeviceSpan::Kind::kernel,
                         .seq = launch.seq,
                         .kernel = launch.name->printed,
                         .start_ns = times.start,
                         .end_ns = times.end,
                         .device = static_cast<std::uint32_t>(device_),
                         .stream = launch.stream.handle});
    }
    ended_.clear();
}

}  // namespace aoti_dbg
