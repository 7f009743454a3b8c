// The CUDA kernel: statistics of any number of tensors in one launch. Each block reads its share of one
// tensor; the block of a tensor that is done last merges what the others left and writes the result to the
// host's memory. Bandwidth is the aim: each byte is read once, 16 of them at a time, four such loads under
// way in each thread. Must not use the CUDA runtime at run time, allocate, or read a byte that no element
// covers.
#include "stats_kernels/device_integer.cuh"

namespace aoti_dbg::device {

namespace {

/// How much of the work is compiled in. What is wanted beyond it costs a branch, and is not there at all in
/// the sweeps for less.
enum class Depth { findings, printed, indices, hash };

__device__ Depth depth_of(Wanted wanted) {
    if (wants(wanted, Wanted::hash)) return Depth::hash;
    if (wants(wanted, Wanted::indices)) return Depth::indices;
    if (wants(wanted, Wanted::printed)) return Depth::printed;
    return Depth::findings;
}

/// The block's tiles, one after the other.
template <unsigned kBytes, bool kHash, typename Numbers>
__device__ void sweep(PartialStatistics* parts, unsigned long long& hash) {
    constexpr unsigned kInGroup = 16 / kBytes;
    const DeviceJob& job = shared_job();
    const std::uint64_t whole_groups = job.count / kInGroup;
    const std::uint64_t groups = whole_groups + (job.count % kInGroup != 0 ? 1 : 0);
    const bool is_plain = job.rank == 0 && job.data % 16 == 0;
    const auto* data = reinterpret_cast<const uint4*>(job.data);
    const std::uint64_t step = std::uint64_t{job.blocks} * kTileGroups;
    RaggedTurn ragged;
    Numbers numbers;
    for (std::uint64_t tile = std::uint64_t{blockIdx.x - job.first_block} * kTileGroups; tile < groups;
         tile += step) {
        const std::uint64_t first_group = tile + threadIdx.x;
        const bool is_whole = is_plain && tile + kTileGroups <= whole_groups;
        // Both ways end in loads from an address: words that came out of a call would be spilled in both.
        const uint4* from = data + first_group;
        unsigned apart = kBlockThreads;
        unsigned valid = kGroups * kInGroup;
        if (!is_whole) {
            load_ragged(first_group, ragged);
            if (ragged.valid == 0) continue;
            from = ragged.groups;
            apart = 1;
            valid = ragged.valid;
        }
        unsigned words[kWords];
#pragma unroll
        for (unsigned k = 0; k < kGroups; ++k) {
            const uint4 group = from[k * apart];
            words[k * 4] = group.x;
            words[k * 4 + 1] = group.y;
            words[k * 4 + 2] = group.z;
            words[k * 4 + 3] = group.w;
        }
        if (kHash && is_whole) {
#pragma unroll
            for (unsigned k = 0; k < kGroups; ++k)
                hash += hash_group(first_group + k * kBlockThreads,
                                   std::uint64_t{words[k * 4 + 1]} << 32U | words[k * 4],
                                   std::uint64_t{words[k * 4 + 3]} << 32U | words[k * 4 + 2]);
        } else if (kHash) {
            hash += ragged.hash;
        }
        numbers.add(words, first_group, valid);
    }
    numbers.finish(parts);
}

template <typename Kind, unsigned kBytes>
__device__ void sweep_real(PartialStatistics* parts, unsigned long long& hash) {
    switch (depth_of(shared_job().wanted)) {
        case Depth::findings:
            return sweep<kBytes, false, FindingsOnly<Kind, 1>>(parts, hash);
        case Depth::printed:
            return sweep<kBytes, false, RealNumbers<Kind, false>>(parts, hash);
        case Depth::indices:
            return sweep<kBytes, false, RealNumbers<Kind, true>>(parts, hash);
        case Depth::hash:
            return sweep<kBytes, true, RealNumbers<Kind, true>>(parts, hash);
    }
}

/// Fewer depths for what is rare: each is some kilobytes for each architecture.
template <typename Kind, unsigned kBytes>
__device__ void sweep_complex(PartialStatistics* parts, unsigned long long& hash) {
    switch (depth_of(shared_job().wanted)) {
        case Depth::findings:
            return sweep<kBytes, false, FindingsOnly<Kind, 2>>(parts, hash);
        case Depth::printed:
        case Depth::indices:
            return sweep<kBytes, false, ComplexNumbers<Kind, true>>(parts, hash);
        case Depth::hash:
            return sweep<kBytes, true, ComplexNumbers<Kind, true>>(parts, hash);
    }
}

template <typename Plain, typename Indexed, unsigned kBytes>
__device__ void sweep_integers(PartialStatistics* parts, unsigned long long& hash) {
    switch (depth_of(shared_job().wanted)) {
        case Depth::findings:
            return;  // an integer is neither NaN nor Inf
        case Depth::printed:
            return sweep<kBytes, false, Plain>(parts, hash);
        case Depth::indices:
            return sweep<kBytes, false, Indexed>(parts, hash);
        case Depth::hash:
            return sweep<kBytes, true, Indexed>(parts, hash);
    }
}

template <typename T, bool kBoolean = false>
__device__ void sweep_narrow(PartialStatistics* parts, unsigned long long& hash) {
    sweep_integers<NarrowIntegers<T, kBoolean, false>, NarrowIntegers<T, kBoolean, true>, sizeof(T)>(parts,
                                                                                                     hash);
}

template <typename T>
__device__ void sweep_wide(PartialStatistics* parts, unsigned long long& hash) {
    sweep_integers<WideIntegers<T, false>, WideIntegers<T, true>, 8>(parts, hash);
}

__device__ void sweep_job(PartialStatistics* parts, unsigned long long& hash) {
    switch (shared_job().dtype) {
        case DType::float64:
            return sweep_real<Float64, 8>(parts, hash);
        case DType::float32:
            return sweep_real<Float32, 4>(parts, hash);
        case DType::float16:
            return sweep_real<Float16, 2>(parts, hash);
        case DType::bfloat16:
            return sweep_real<BFloat16, 2>(parts, hash);
        case DType::complex32:
            return sweep_complex<Float16, 4>(parts, hash);
        case DType::complex64:
            return sweep_complex<Float32, 8>(parts, hash);
        case DType::complex128:
            return sweep_complex<Float64, 16>(parts, hash);
        case DType::int8:
            return sweep_narrow<std::int8_t>(parts, hash);
        case DType::int16:
            return sweep_narrow<std::int16_t>(parts, hash);
        case DType::int32:
            return sweep_narrow<std::int32_t>(parts, hash);
        case DType::int64:
            return sweep_wide<std::int64_t>(parts, hash);
        case DType::uint8:
            return sweep_narrow<std::uint8_t>(parts, hash);
        case DType::uint16:
            return sweep_narrow<std::uint16_t>(parts, hash);
        case DType::uint32:
            return sweep_narrow<std::uint32_t>(parts, hash);
        case DType::uint64:
            return sweep_wide<std::uint64_t>(parts, hash);
        case DType::boolean:
            return sweep_narrow<std::uint8_t, true>(parts, hash);
        default:
            return sweep_real<Float8, 1>(parts, hash);
    }
}

/// The job of this block and what goes with it, into shared memory.
__device__ void fetch_job(const StatisticsLaunch& launch) {
    const bool far = launch.far_jobs != 0;
    const auto* jobs = far ? reinterpret_cast<const DeviceJob*>(launch.far_jobs) : launch.near_jobs;
    const auto* dims =
        launch.far_dims != 0 ? reinterpret_cast<const DeviceDim*>(launch.far_dims) : launch.near_dims;
    for (unsigned j = threadIdx.x; j < launch.jobs; j += kBlockThreads) {
        if (blockIdx.x - jobs[j].first_block >= jobs[j].blocks) continue;
        *reinterpret_cast<DeviceJob*>(shared().job_words) = jobs[j];
        shared().job_number = j;
    }
    clear_specials();
    __syncthreads();
    const DeviceJob& job = shared_job();
    for (unsigned d = threadIdx.x; d < job.rank; d += kBlockThreads)
        reinterpret_cast<DeviceDim*>(shared().dim_words)[d] = dims[job.first_dim + d];
    if (is_float8(job.dtype))
        shared().float8[threadIdx.x] = decode_float8(job.dtype, static_cast<std::uint8_t>(threadIdx.x));
    __syncthreads();
}

/// What the block has seen that was not finite belongs to one thread's part; after that nobody adds to it.
__device__ void take_specials(PartialStatistics* parts) {
    __syncthreads();
    if (threadIdx.x != 0) return;
    for (unsigned p = 0; p < 2; ++p) {
        const Specials& specials = shared().specials[p];
        parts[p].nan = specials.nan;
        parts[p].positive_infinity = specials.positive_infinity;
        parts[p].negative_infinity = specials.negative_infinity;
        parts[p].first_nan = specials.first_nan;
        parts[p].first_positive_infinity = specials.first_positive_infinity;
        parts[p].first_negative_infinity = specials.first_negative_infinity;
    }
}

/// Leaves the block's total for the last one. True in that one, which then sees all of them.
__device__ bool hand_over(const StatisticsLaunch& launch, const DeviceJob& job) {
    auto* totals = reinterpret_cast<TensorPartial*>(launch.scratch + kScratchCounterBytes);
    constexpr unsigned kTotalWords = sizeof(TensorPartial) / 8;
    if (threadIdx.x < kTotalWords) {
        reinterpret_cast<std::uint64_t*>(totals + blockIdx.x)[threadIdx.x] =
            shared().total_words[threadIdx.x];
        __threadfence();
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        // Wraps around to zero with the last block: the next launch finds it as this one did.
        auto* counters = reinterpret_cast<unsigned*>(launch.scratch);
        shared().is_last =
            atomicInc(counters + shared().job_number, job.blocks - 1) == job.blocks - 1 ? 1 : 0;
        __threadfence();
    }
    __syncthreads();
    return shared().is_last != 0;
}

__device__ void merge_totals(const StatisticsLaunch& launch, const DeviceJob& job) {
    const auto* totals = reinterpret_cast<const TensorPartial*>(launch.scratch + kScratchCounterBytes);
    const unsigned parts_there = is_complex(job.dtype) ? 2 : 1;
    PartialStatistics parts[2];
    unsigned long long hash = 0;
    for (unsigned block = threadIdx.x; block < job.blocks; block += kBlockThreads) {
        const TensorPartial* total = totals + job.first_block + block;
        for (unsigned p = 0; p < parts_there; ++p) {
            std::uint64_t words[sizeof(PartialStatistics) / 8];
            const auto* from = reinterpret_cast<const unsigned long long*>(&total->parts[p]);
#pragma unroll
            for (unsigned i = 0; i < sizeof(PartialStatistics) / 8; ++i)
                words[i] = __ldcg(from + i);
            merge(parts[p], *reinterpret_cast<const PartialStatistics*>(words));
        }
        hash += __ldcg(reinterpret_cast<const unsigned long long*>(&total->hash));
    }
    __syncthreads();
    if (threadIdx.x == 0) shared().hash = 0;
    __syncthreads();
    total_of_block(parts, hash, job);
}

/// Whole before its number is: the host looks at nothing else until it sees that.
__device__ void publish(const StatisticsLaunch& launch, const DeviceJob& job) {
    if (threadIdx.x >= 32) return;
    constexpr unsigned kPartVectors = sizeof(PartialStatistics) / 16;
    auto* result = reinterpret_cast<DeviceResult*>(job.result);
    const unsigned vectors = is_complex(job.dtype) ? 2 * kPartVectors : kPartVectors;
    if (threadIdx.x < vectors) {
        const std::uint64_t* words = shared().total_words + 2 * threadIdx.x;
        auto* to = reinterpret_cast<ulonglong2*>(&result->partial) + threadIdx.x;
        *to = make_ulonglong2(words[0], words[1]);
    } else if (threadIdx.x == 31) {
        result->partial.hash = shared_total().hash;
    }
    __threadfence_system();
    __syncwarp();
    if (threadIdx.x == 0) *const_cast<volatile std::uint32_t*>(&result->sequence) = launch.sequence;
}

}  // namespace

}  // namespace aoti_dbg::device

extern "C" __global__ void __launch_bounds__(aoti_dbg::kBlockThreads, 4)
    aoti_dbg_stats(const __grid_constant__ aoti_dbg::StatisticsLaunch launch) {
    using namespace aoti_dbg;
    using namespace aoti_dbg::device;
    fetch_job(launch);
    const DeviceJob& job = shared_job();
    PartialStatistics parts[2];
    unsigned long long hash = 0;
    sweep_job(parts, hash);
    take_specials(parts);
    total_of_block(parts, hash, job);
    if (job.blocks > 1) {
        if (!hand_over(launch, job)) return;
        merge_totals(launch, job);
    }
    publish(launch, job);
}
