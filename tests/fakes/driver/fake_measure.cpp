// The library's own kernels, as this driver runs them: what device code would do, done by the CPU statistics
// that are compiled in, after everything was checked on which a GPU would fault or go wrong. They look at the
// launch as it was copied, at memory only where it is allocated, and print nothing unless asked to explain.
#include "tests/fakes/driver/fake_cuda_control.h"

#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <iterator>

#include "stats_kernels/cpu_statistics.hpp"
#include "stats_kernels/device_code.hpp"
#include "stats_kernels/device_job.hpp"
#include "tests/fakes/driver/fake_driver.hpp"

namespace fake_cuda {
namespace {

using aoti_dbg::DeviceDim;
using aoti_dbg::DeviceJob;
using aoti_dbg::DeviceResult;
using aoti_dbg::DeviceValues;
using aoti_dbg::DType;
using aoti_dbg::StatisticsLaunch;
using aoti_dbg::TensorPartial;
using aoti_dbg::TensorView;

// 0xBA55ED50, little endian.
constexpr unsigned char kFatbinMagic[] = {0x50, 0xED, 0x55, 0xBA};

std::atomic<const char*> g_fault_text{""};

/// Notes why; false, for a kernel to return. Texts stay: somebody may be reading one.
__attribute__((format(printf, 1, 2))) bool faults(const char* format, ...) {
    static auto* const texts = new std::deque<std::array<char, 256>>;
    static std::mutex mutex;
    const std::lock_guard lock(mutex);
    auto& text = texts->emplace_back();
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(text.data(), text.size(), format, arguments);
    va_end(arguments);
    g_fault_text.store(text.data(), std::memory_order_release);
    if (std::getenv("FAKE_CUDA_EXPLAIN") != nullptr) std::fprintf(stderr, "fake_cuda: %s\n", text.data());
    return false;
}

/// What one launch measures, with the tables wherever they are.
struct Launch {
    StatisticsLaunch parameters;
    const DeviceJob* jobs = nullptr;
    const DeviceDim* dims = nullptr;
    std::uint64_t dims_there = 0;
    std::uint32_t blocks = 0;
};

bool find_tables(Launch& launch) {
    const StatisticsLaunch& given = launch.parameters;
    launch.jobs = given.near_jobs;
    launch.dims = given.near_dims;
    launch.dims_there = aoti_dbg::kNearDims;
    if (given.jobs == 0 || given.jobs > aoti_dbg::kMaxJobs) return faults("%u jobs", given.jobs);
    if (given.far_jobs == 0) {
        if (given.jobs > aoti_dbg::kNearJobs) return faults("%u near jobs", given.jobs);
    } else {
        if (!is_known(given.far_jobs, given.jobs * sizeof(DeviceJob))) return faults("far jobs: no memory");
        launch.jobs = reinterpret_cast<const DeviceJob*>(given.far_jobs);
    }
    if (given.far_dims != 0) {
        launch.dims = reinterpret_cast<const DeviceDim*>(given.far_dims);
        launch.dims_there = UINT32_MAX;
    }
    return true;
}

/// Every block finds its job by first_block; the counters of the scratch buffer are as the last launch left
/// them.
bool check_blocks(Launch& launch, const LaunchShape& shape) {
    const StatisticsLaunch& given = launch.parameters;
    for (std::uint32_t j = 0; j < given.jobs; ++j) {
        const DeviceJob& job = launch.jobs[j];
        if (job.first_block != launch.blocks || job.blocks == 0)
            return faults("job %u: blocks from %u, %u of them, after %u", j, job.first_block, job.blocks,
                          launch.blocks);
        launch.blocks += job.blocks;
    }
    if (shape.grid[0] != launch.blocks || shape.grid[1] != 1 || shape.grid[2] != 1)
        return faults("a grid of %u for %u blocks", shape.grid[0], launch.blocks);
    if (shape.block[0] != aoti_dbg::kBlockThreads || shape.block[1] != 1 || shape.block[2] != 1)
        return faults("%u threads a block", shape.block[0]);
    if (!is_known(given.scratch, aoti_dbg::scratch_bytes(launch.blocks)) || given.scratch % 16 != 0)
        return faults("scratch: no memory for %u blocks", launch.blocks);
    return true;
}

/// The job's tensor; sizes and strides stay in the two arrays.
struct JobTensor {
    std::int64_t sizes[aoti_dbg::kMaxRank];
    std::int64_t strides[aoti_dbg::kMaxRank];
    TensorView view;
};

bool find_tensor(const Launch& launch, std::uint32_t j, JobTensor& tensor) {
    const DeviceJob& job = launch.jobs[j];
    const std::uint32_t rank = job.rank == 0 ? 1 : job.rank;
    tensor.sizes[0] = static_cast<std::int64_t>(job.count);
    tensor.strides[0] = 1;
    if (static_cast<std::uint32_t>(job.dtype) >= aoti_dbg::kDTypes) return faults("job %u: no dtype", j);
    if (job.rank > 0) {
        if (rank > aoti_dbg::kMaxRank || job.first_dim + std::uint64_t{rank} > launch.dims_there)
            return faults("job %u: rank %u from dimension %u", j, rank, job.first_dim);
        if (launch.parameters.far_dims != 0 &&
            !is_known(launch.parameters.far_dims + job.first_dim * sizeof(DeviceDim),
                      rank * sizeof(DeviceDim)))
            return faults("job %u: far dimensions: no memory", j);
    }
    for (std::uint32_t d = 0; d < job.rank; ++d) {
        tensor.sizes[d] = launch.dims[job.first_dim + d].size;
        tensor.strides[d] = launch.dims[job.first_dim + d].stride;
    }
    tensor.view.data = reinterpret_cast<const void*>(job.data);
    tensor.view.dtype = job.dtype;
    tensor.view.sizes = {tensor.sizes, rank};
    tensor.view.strides = {tensor.strides, rank};
    if (aoti_dbg::element_count(tensor.view.sizes) != job.count)
        return faults("job %u: sizes of other than %llu elements", j,
                      static_cast<unsigned long long>(job.count));
    return true;
}

/// All that the tensor's elements lie between must be memory.
bool check_data(const DeviceJob& job, std::uint32_t j, const JobTensor& tensor) {
    if (job.count == 0) return true;
    std::int64_t first = 0;
    std::int64_t last = 0;
    for (std::size_t d = 0; d < tensor.view.sizes.size(); ++d) {
        const std::int64_t far = (tensor.sizes[d] - 1) * tensor.strides[d];
        (far < 0 ? first : last) += far;
    }
    const auto size = static_cast<std::int64_t>(element_size(job.dtype));
    const std::uint64_t begin = job.data + static_cast<std::uint64_t>(first * size);
    const auto bytes = static_cast<std::size_t>((last - first + 1) * size);
    if (is_known(begin, bytes)) return true;
    return faults("job %u: [%#llx, +%zu) is not allocated", j, static_cast<unsigned long long>(begin), bytes);
}

/// The kernel has the scratch buffer for itself as long as this lives. Two launches that use one at a time
/// are caught where the counters show it, as they would spoil each other's on a GPU.
class ScratchUse {
  public:
    explicit ScratchUse(const StatisticsLaunch& launch)
        : counter_(*reinterpret_cast<std::uint32_t*>(launch.scratch)) {
        auto* counters = reinterpret_cast<std::uint32_t*>(launch.scratch);
        clean_ = counter_.exchange(1, std::memory_order_acq_rel) == 0;
        for (std::uint32_t j = 1; clean_ && j < launch.jobs; ++j)
            clean_ = counters[j] == 0;
    }
    ScratchUse(const ScratchUse&) = delete;
    ScratchUse& operator=(const ScratchUse&) = delete;
    ~ScratchUse() {
        if (clean_) counter_.store(0, std::memory_order_release);
    }
    [[nodiscard]] bool is_clean() const { return clean_; }

  private:
    std::atomic_ref<std::uint32_t> counter_;
    bool clean_ = false;
};

void publish(const DeviceJob& job, const TensorPartial& partial, std::uint32_t sequence) {
    auto* result = reinterpret_cast<DeviceResult*>(job.result);
    result->partial.parts[0] = partial.parts[0];
    if (is_complex(job.dtype)) result->partial.parts[1] = partial.parts[1];
    result->partial.hash = partial.hash;
    std::atomic_ref(result->sequence).store(sequence, std::memory_order_release);
}

bool measure(const std::byte* const* p, const LaunchShape& shape) {
    const std::shared_lock nothing_goes(frees_mutex());
    Launch launch;
    std::memcpy(&launch.parameters, p[0], sizeof(launch.parameters));
    if (launch.parameters.sequence == 0) return faults("sequence 0");
    if (!find_tables(launch) || !check_blocks(launch, shape)) return false;
    const ScratchUse scratch(launch.parameters);
    if (!scratch.is_clean()) return faults("the scratch buffer is in use, or was never zeroed");
    for (std::uint32_t j = 0; j < launch.parameters.jobs; ++j) {
        const DeviceJob& job = launch.jobs[j];
        JobTensor tensor;
        if (!find_tensor(launch, j, tensor) || !check_data(job, j, tensor)) return false;
        if (!is_known(job.result, sizeof(DeviceResult)) || job.result % alignof(DeviceResult) != 0)
            return faults("job %u: no memory for its result", j);
        publish(job, measure_range(tensor.view, job.wanted, 0, job.count), launch.parameters.sequence);
    }
    return true;
}

/// One element after another in logical order, as they would lie in a contiguous tensor.
void gather(const DeviceJob& job, const JobTensor& tensor) {
    const std::size_t size = element_size(job.dtype);
    const auto* from = reinterpret_cast<const std::byte*>(job.data);
    auto* to = reinterpret_cast<std::byte*>(job.result);
    std::int64_t index[aoti_dbg::kMaxRank] = {};
    for (std::uint64_t i = 0; i < job.count; ++i) {
        std::int64_t element = 0;
        for (std::size_t d = 0; d < tensor.view.sizes.size(); ++d)
            element += index[d] * tensor.strides[d];
        std::memcpy(to + i * size, from + element * static_cast<std::int64_t>(size), size);
        for (std::size_t d = tensor.view.sizes.size(); d-- > 0;) {
            if (++index[d] < tensor.sizes[d]) break;
            index[d] = 0;
        }
    }
}

bool gather_values(const std::byte* const* p, const LaunchShape&) {
    const std::shared_lock nothing_goes(frees_mutex());
    Launch launch;
    std::memcpy(&launch.parameters, p[0], sizeof(launch.parameters));
    if (!find_tables(launch)) return false;
    for (std::uint32_t j = 0; j < launch.parameters.jobs; ++j) {
        const DeviceJob& job = launch.jobs[j];
        JobTensor tensor;
        if (!find_tensor(launch, j, tensor) || !check_data(job, j, tensor)) return false;
        if (job.count > aoti_dbg::kMostValues) return faults("job %u: too many values", j);
        if (!is_known(job.result, sizeof(DeviceValues))) return faults("job %u: no memory for its values", j);
        gather(job, tensor);
        auto& values = *reinterpret_cast<DeviceValues*>(job.result);
        __atomic_store_n(&values.sequence, launch.parameters.sequence, __ATOMIC_RELEASE);
    }
    return true;
}

KernelImage kernel_of_fatbin(const char* name, HostKernel kernel) {
    KernelImage image;
    image.name = name;
    image.kernel = kernel;
    image.offsets = {0};
    image.sizes = {sizeof(StatisticsLaunch)};
    image.bytes = sizeof(StatisticsLaunch);
    image.of_fatbin = true;
    return image;
}

}  // namespace

bool is_fatbin(const void* image) {
    // A byte at a time: a text may be shorter.
    const auto* bytes = static_cast<const unsigned char*>(image);
    return std::equal(std::begin(kFatbinMagic), std::end(kFatbinMagic), bytes);
}

std::vector<KernelImage> kernels_of_fatbin() {
    return {kernel_of_fatbin(aoti_dbg::kStatisticsKernel, measure),
            kernel_of_fatbin(aoti_dbg::kValuesKernel, gather_values)};
}

}  // namespace fake_cuda

FAKE_API const char* fake_cuda_fault_text() {
    return fake_cuda::g_fault_text.load(std::memory_order_acquire);
}
