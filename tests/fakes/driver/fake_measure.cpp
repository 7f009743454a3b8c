// The library's own kernels on this driver. The compiled-in CPU statistics replace device code, after checks
// for everything that would fault or fail on a GPU. They use the launch's copied parameters, read only
// allocated memory, and print only with FAKE_CUDA_EXPLAIN.
#include "tests/fakes/driver/fake_cuda_control.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <deque>
#include <iterator>
#include <span>
#include <vector>

#include "stats_kernels/cpu_statistics.hpp"
#include "stats_kernels/device_code.hpp"
#include "stats_kernels/launch_plan.hpp"
#include "stats_kernels/math_bits.hpp"
#include "stats_kernels/save_job.hpp"
#include "tests/fakes/driver/fake_driver.hpp"

namespace fake_cuda {
namespace {

using aoti_dbg::DeviceDim;
using aoti_dbg::DeviceJob;
using aoti_dbg::DType;
using aoti_dbg::PartialStatistics;
using aoti_dbg::ResultLine;
using aoti_dbg::ResultShape;
using aoti_dbg::SaveJob;
using aoti_dbg::SaveLaunch;
using aoti_dbg::StatisticsLaunch;
using aoti_dbg::TensorPartial;
using aoti_dbg::TensorView;

// 0xBA55ED50 in little-endian order.
constexpr unsigned char kFatbinMagic[] = {0x50, 0xED, 0x55, 0xBA};

std::atomic<const char*> g_fault_text{""};

/// Records the reason and returns false, for a kernel to return. Texts are never freed, because a thread may
/// be reading one.
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

/// Checks that every block finds its job by first_block.
bool check_blocks(const StatisticsLaunch& launch, const LaunchShape& shape) {
    if (launch.sequence == 0) return faults("sequence 0");
    if (launch.jobs == 0 || launch.jobs > aoti_dbg::kMostJobs) return faults("%u jobs", launch.jobs);
    std::uint32_t blocks = 0;
    for (std::uint32_t j = 0; j < launch.jobs; ++j) {
        const DeviceJob& job = launch.job[j];
        if (job.first_block != blocks || job.blocks == 0)
            return faults("job %u: blocks from %u, %u of them, after %u", j, job.first_block, job.blocks,
                          blocks);
        blocks += job.blocks;
    }
    if (shape.grid[0] != blocks || shape.grid[1] != 1 || shape.grid[2] != 1)
        return faults("a grid of %u for %u blocks", shape.grid[0], blocks);
    if (shape.block[0] != aoti_dbg::kBlockThreads || shape.block[1] != 1 || shape.block[2] != 1)
        return faults("%u threads a block", shape.block[0]);
    return true;
}

/// The job's tensor. Sizes and strides remain in the two arrays.
struct JobTensor {
    std::int64_t sizes[aoti_dbg::kMaxRank];
    std::int64_t strides[aoti_dbg::kMaxRank];
    TensorView view;
};

bool find_tensor(const StatisticsLaunch& launch, std::uint32_t j, JobTensor& tensor) {
    const DeviceJob& job = launch.job[j];
    const std::uint32_t rank = job.rank == 0 ? 1 : job.rank;
    tensor.sizes[0] = static_cast<std::int64_t>(job.count);
    tensor.strides[0] = 1;
    if (static_cast<std::uint32_t>(job.dtype) >= aoti_dbg::kDTypes) return faults("job %u: no dtype", j);
    if (job.rank > 0 && std::uint32_t{job.first_dim} + rank > aoti_dbg::kMostLaunchDims)
        return faults("job %u: rank %u from dimension %u", j, rank, job.first_dim);
    for (std::uint32_t d = 0; d < job.rank; ++d) {
        tensor.sizes[d] = launch.dim[job.first_dim + d].size;
        tensor.strides[d] = launch.dim[job.first_dim + d].stride;
    }
    tensor.view.data = reinterpret_cast<const void*>(job.data);
    tensor.view.dtype = job.dtype;
    tensor.view.sizes = {tensor.sizes, rank};
    tensor.view.strides = {tensor.strides, rank};
    tensor.view.bits = job.bits;
    if (!aoti_dbg::can_apply(job.bits, job.dtype)) return faults("job %u: cannot negate", j);
    if (aoti_dbg::element_count(tensor.view.sizes) != job.count)
        return faults("job %u: sizes of other than %llu elements", j,
                      static_cast<unsigned long long>(job.count));
    return true;
}

/// Checks that the whole range of the tensor's elements is allocated.
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

/// Checks what the job promises to vector loads: whole groups of 16 bytes, or whole patches.
bool check_loads(const DeviceJob& job, std::uint32_t j, const JobTensor& tensor) {
    if (job.strided_load == aoti_dbg::StridedLoad::elements) return true;
    const bool in_groups = job.strided_load == aoti_dbg::StridedLoad::groups;
    const std::int64_t group = 16 / job.bytes;
    const int contiguous = job.rank - (in_groups ? 1 : 2);
    bool whole = contiguous >= 0 && job.data % 16 == 0;
    for (int d = 0; whole && d < job.rank; ++d)
        whole = d == contiguous ? tensor.strides[d] == 1 : tensor.strides[d] % group == 0;
    if (whole && in_groups) whole = tensor.sizes[contiguous] % group == 0;
    if (whole && !in_groups)
        whole = tensor.sizes[contiguous] * job.bytes % aoti_dbg::kPatchBytes == 0 &&
                tensor.sizes[contiguous + 1] % aoti_dbg::kPatchColumns == 0;
    return whole || faults("job %u: no whole %s", j, in_groups ? "groups" : "patches");
}

/// Returns the elements in logical order, as in a contiguous tensor.
std::vector<std::uint64_t> values_of(const DeviceJob& job, const JobTensor& tensor) {
    const std::size_t size = element_size(job.dtype);
    const auto* from = reinterpret_cast<const std::byte*>(job.data);
    std::vector<std::uint64_t> words(job.count * size / 8 + aoti_dbg::kLineWords);
    auto* to = reinterpret_cast<std::byte*>(words.data());
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
    return words;
}

/// Writes the result lines of one block, as its threads would.
void leave_block(const DeviceJob& job, std::uint32_t block, const TensorPartial& partial,
                 std::uint32_t sequence) {
    auto* line = reinterpret_cast<ResultLine*>(job.lines) + block;
    for (std::uint32_t i = 0; i < aoti_dbg::line_parts(job.dtype); ++i) {
        const PartialStatistics& part = partial.parts[i];
        const bool has_specials = part.nan + part.positive_infinity + part.negative_infinity != 0;
        const std::uint64_t moments[] = {part.finite,
                                         std::bit_cast<std::uint64_t>(part.mean),
                                         std::bit_cast<std::uint64_t>(part.m2),
                                         part.zeros,
                                         part.minimum_key,
                                         part.maximum_key,
                                         has_specials ? aoti_dbg::kHasSpecials : 0};
        write_line(*line, sequence, moments);
        line += job.blocks;
        if (aoti_dbg::has_special_lines(job.dtype)) {
            const std::uint64_t specials[] = {
                part.nan,       part.positive_infinity,       part.negative_infinity,
                part.first_nan, part.first_positive_infinity, part.first_negative_infinity};
            if (has_specials) write_line(*line, sequence, specials);
            line += job.blocks;
        }
        if (aoti_dbg::has_place_lines(job.dtype, job.requested)) {
            const std::uint64_t places[] = {part.minimum_index, part.maximum_index, i == 0 ? partial.hash : 0,
                                            part.sum_low, part.sum_high};
            write_line(*line, sequence, places);
            line += job.blocks;
        }
    }
}

void leave(const DeviceJob& job, const JobTensor& tensor, const ResultShape& shape, std::uint32_t sequence) {
    for (std::uint32_t block = 0; block < job.blocks; ++block) {
        const std::uint64_t begin = aoti_dbg::range_begin(job.count, block, job.blocks);
        const std::uint64_t end = aoti_dbg::range_begin(job.count, block + 1, job.blocks);
        leave_block(job, block, measure_range(tensor.view, job.requested, begin, end), sequence);
    }
    if (shape.bytes_of_values == 0) return;
    const std::vector<std::uint64_t> words = values_of(job, tensor);
    auto* line = reinterpret_cast<ResultLine*>(job.lines) + shape.lines_of_blocks();
    for (std::uint32_t i = 0; i < aoti_dbg::value_lines(shape.bytes_of_values); ++i)
        write_line(line[i], sequence,
                   std::span(words).subspan(std::size_t{i} * aoti_dbg::kLineWords, aoti_dbg::kLineWords));
}

bool measure(const std::byte* const* p, const LaunchShape& shape) {
    const std::shared_lock nothing_goes(frees_mutex());
    StatisticsLaunch launch;
    std::memcpy(&launch, p[0], sizeof(launch));
    if (!check_blocks(launch, shape)) return false;
    for (std::uint32_t j = 0; j < launch.jobs; ++j) {
        const DeviceJob& job = launch.job[j];
        JobTensor tensor;
        if (!find_tensor(launch, j, tensor) || !check_data(job, j, tensor) || !check_loads(job, j, tensor))
            return false;
        const ResultShape lines = aoti_dbg::shape_of(tensor.view, job.requested, job.blocks);
        if (!is_known(job.lines, lines.lines() * sizeof(ResultLine)) || job.lines % alignof(ResultLine) != 0)
            return faults("job %u: no memory for its lines", j);
        leave(job, tensor, lines, launch.sequence);
    }
    return true;
}

/// Handles a block's share like the device code: hashes and copies it, and only then publishes the result.
void save_block(const SaveJob& job, std::uint32_t block, std::uint32_t sequence) {
    const std::uint64_t groups = job.bytes / aoti_dbg::kHashGroupBytes;
    const std::uint64_t begin = aoti_dbg::range_begin(groups, block, job.blocks);
    const bool has_end = block + 1 == job.blocks;
    const std::uint64_t end =
        has_end ? job.bytes
                : aoti_dbg::range_begin(groups, block + 1, job.blocks) * aoti_dbg::kHashGroupBytes;
    const std::uint64_t from = begin * aoti_dbg::kHashGroupBytes;
    const auto* data = reinterpret_cast<const std::byte*>(job.data + from);
    aoti_dbg::BytesHash sum;
    aoti_dbg::add_bytes(sum, {data, end - from}, job.first_group + begin);
    if (job.to != 0) std::memcpy(reinterpret_cast<std::byte*>(job.to + from), data, end - from);
    const std::uint64_t words[] = {sum.low, sum.high};
    write_line(reinterpret_cast<ResultLine*>(job.lines)[block], sequence, words);
}

bool check_save(const SaveLaunch& launch, const LaunchShape& shape) {
    if (launch.sequence == 0) return faults("sequence 0");
    if (launch.jobs == 0 || launch.jobs > aoti_dbg::kMostSaveJobs) return faults("%u jobs", launch.jobs);
    std::uint32_t blocks = 0;
    for (std::uint32_t j = 0; j < launch.jobs; ++j) {
        const SaveJob& job = launch.job[j];
        if (job.first_block != blocks || job.blocks == 0) return faults("save job %u: its blocks", j);
        blocks += job.blocks;
        if (job.bytes == 0 || !is_known(job.data, job.bytes)) return faults("save job %u: its bytes", j);
        if (job.to % 16 != 0 || (job.to != 0 && !is_known(job.to, job.bytes)))
            return faults("save job %u: where its bytes go", j);
        if (job.lines % alignof(ResultLine) != 0 || !is_known(job.lines, job.blocks * sizeof(ResultLine)))
            return faults("save job %u: no memory for its lines", j);
    }
    if (shape.grid[0] != blocks || shape.grid[1] != 1 || shape.grid[2] != 1)
        return faults("a grid of %u for %u blocks", shape.grid[0], blocks);
    return shape.block[0] == aoti_dbg::kBlockThreads || faults("%u threads a block", shape.block[0]);
}

bool save(const std::byte* const* p, const LaunchShape& shape) {
    const std::shared_lock nothing_goes(frees_mutex());
    SaveLaunch launch;
    std::memcpy(&launch, p[0], sizeof(launch));
    if (!check_save(launch, shape)) return false;
    for (std::uint32_t j = 0; j < launch.jobs; ++j) {
        for (std::uint32_t block = 0; block < launch.job[j].blocks; ++block)
            save_block(launch.job[j], block, launch.sequence);
    }
    return true;
}

/// The device's clock is ahead of the host's, so that tests notice if they are confused.
bool write_time(const std::byte* const* p, const LaunchShape& shape) {
    constexpr std::uint64_t kAhead = 3'000'000'000;
    std::uint64_t word = 0;
    std::memcpy(&word, p[0], sizeof(word));
    if (shape.grid[0] != 1 || shape.block[0] != 1) return faults("%u threads send the time", shape.block[0]);
    if (word % sizeof(word) != 0 || !is_known(word, sizeof(word))) return faults("no memory for the time");
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    const std::uint64_t time =
        static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
    std::atomic_ref(*reinterpret_cast<std::uint64_t*>(word)).store(time + kAhead, std::memory_order_release);
    return true;
}

KernelImage kernel_of_fatbin(const char* name, HostKernel kernel, std::uint32_t bytes) {
    KernelImage image;
    image.name = name;
    image.kernel = kernel;
    image.offsets = {0};
    image.sizes = {bytes};
    image.bytes = bytes;
    image.of_fatbin = true;
    return image;
}

}  // namespace

bool is_fatbin(const void* image) {
    // Compares byte by byte, because a text image may be shorter.
    const auto* bytes = static_cast<const unsigned char*>(image);
    return std::equal(std::begin(kFatbinMagic), std::end(kFatbinMagic), bytes);
}

std::vector<KernelImage> kernels_of_fatbin() {
    return {kernel_of_fatbin(aoti_dbg::kStatisticsKernel, measure, sizeof(StatisticsLaunch)),
            kernel_of_fatbin(aoti_dbg::kSaveKernel, save, sizeof(SaveLaunch)),
            kernel_of_fatbin(aoti_dbg::kTimeKernel, write_time, sizeof(std::uint64_t))};
}

}  // namespace fake_cuda

FAKE_API const char* fake_cuda_fault_text() {
    return fake_cuda::g_fault_text.load(std::memory_order_acquire);
}
