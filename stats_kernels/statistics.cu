// The CUDA kernel for statistics of several tensors in one launch. Each block reads its share of one tensor
// and writes its result to host memory without waiting for others. It aims for full bandwidth: each byte is
// read once, unless a rare kind is hashed, in loads of 16 bytes, with four of them in flight per thread. Must
// not use the CUDA runtime, allocate, or read a byte that no element covers.
#include "stats_kernels/device_finish.cuh"
#include "stats_kernels/device_float4.cuh"
#include "stats_kernels/device_float8.cuh"
#include "stats_kernels/device_scale8.cuh"
#include "stats_kernels/device_sweep.cuh"
#include "stats_kernels/device_values.cuh"

namespace aoti_dbg::device {

// In an unnamed namespace, nvcc would put a hash of the folder into the names of functions.
inline namespace statistics_kernel {

/// For the kinds of sweep_common(): what it leaves is hashed, or staged, which is slow anyway.
template <typename Kind, unsigned kBytes>
__device__ void sweep_uncommon(const Region& region) {
    sweep<kBytes, true, RealNumbers<Kind>>(region);
}

template <typename Numbers, unsigned kBytes>
__device__ void sweep_rare(const Region& region) {
    if (sweeps_hash()) hash_region(region);
    sweep<kBytes, false, Numbers>(region);
}

template <typename Numbers>
__device__ void sweep_float8(const Region& region) {
    if (wants(shared_job().requested, Requested::printed | Requested::indices))
        return sweep_rare<Numbers, 1>(region);
    return sweep_rare<FindingsOnly<TableFloat8>, 1>(region);
}

template <typename Numbers, unsigned kBytes>
__device__ void sweep_finite(const Region& region) {
    if (wants(shared_job().requested, Requested::printed | Requested::indices))
        return sweep_rare<Numbers, kBytes>(region);
    if (sweeps_hash()) hash_region(region);
    leave({}, 0, 0, 0);  // there is neither NaN nor Inf
}

template <typename T, bool kBoolean = false>
__device__ void sweep_narrow(const Region& region) {
    return sweep_finite<NarrowIntegers<T, kBoolean>, sizeof(T)>(region);
}

__device__ __noinline__ void sweep_region(Region region) {
    switch (shared_job().dtype) {
        case DType::float64:
            return sweep_rare<RealNumbers<Float64>, 8>(region);
        case DType::float32:
            return sweep_uncommon<Float32, 4>(region);
        case DType::float16:
            return sweep_uncommon<Float16, 2>(region);
        case DType::bfloat16:
            return sweep_uncommon<BFloat16, 2>(region);
        case DType::complex32:
            return sweep_rare<ComplexNumbers<Float16>, 4>(region);
        case DType::complex64:
            return sweep_rare<ComplexNumbers<Float32>, 8>(region);
        case DType::complex128:
            return sweep_rare<ComplexNumbers<Float64>, 16>(region);
        case DType::int8:
            return sweep_narrow<std::int8_t>(region);
        case DType::int16:
            return sweep_narrow<std::int16_t>(region);
        case DType::int32:
            return sweep_narrow<std::int32_t>(region);
        case DType::int64:
            return sweep_finite<WideIntegers<std::int64_t>, 8>(region);
        case DType::uint8:
            return sweep_narrow<std::uint8_t>(region);
        case DType::uint16:
            return sweep_narrow<std::uint16_t>(region);
        case DType::uint32:
            return sweep_narrow<std::uint32_t>(region);
        case DType::uint64:
            return sweep_finite<WideIntegers<std::uint64_t>, 8>(region);
        case DType::boolean:
            return sweep_narrow<std::uint8_t, true>(region);
        case DType::float4_e2m1fn_x2:
            return sweep_finite<Float4Numbers, 1>(region);
        case DType::float8_e8m0fnu:
            return sweep_float8<ScaleNumbers>(region);
        case DType::float8_e4m3fn:
            return sweep_float8<Float8Numbers<Float8Format::e4m3fn>>(region);
        case DType::float8_e5m2:
            return sweep_float8<Float8Numbers<Float8Format::e5m2>>(region);
        default:
            return sweep_float8<Float8Numbers<Float8Format::fnuz>>(region);
    }
}

/// Adds the elements after the last whole group if they are this thread's.
__device__ __noinline__ Region with_end(Region region, std::uint64_t whole_groups) {
    const DeviceJob& job = shared_job();
    const unsigned bytes = job.bytes;
    const std::uint64_t tile = whole_groups / kTileGroups;
    const std::uint64_t turn = divide(tile, job.blocks);
    if (whole_groups % kBlockThreads != threadIdx.x) return region;
    if (tile - turn * job.blocks != blockIdx.x - job.first_block) return region;
    region.end_turn = static_cast<unsigned>(turn);
    region.end_elements = static_cast<unsigned>(job.count % (16 / bytes));
    const uint4 end = load_group(whole_groups * (16 / bytes), region.end_elements, bytes);
    shared().end = end;
    if (wants(job.requested, Requested::hash))
        atomicAdd(&shared().hashes[threadIdx.x / 32],
                  hash_group(whole_groups, std::uint64_t{end.y} << 32U | end.x,
                             std::uint64_t{end.w} << 32U | end.z));
    return region;
}

/// Sweeps elements that vector loads cannot read. All threads handle the same number of tiles.
__device__ __noinline__ void sweep_staged(Region region) {
    const std::int64_t all = region.left + threadIdx.x;
    const std::int64_t step = groups_to_next_turn();
    const unsigned end_elements = region.end_elements;
    const unsigned warp = threadIdx.x / 32;
    const unsigned parts = is_complex(shared_job().dtype) ? 2 : 1;
    region.from = shared().staged + threadIdx.x;
    for (unsigned part = 0; threadIdx.x % 32 == 0 && part < parts; ++part)
        kept_of_warp(part, warp) = Located{};
    __syncwarp();
    for (std::int64_t left = all;; left -= step) {
        region.left = (left < kTileGroups ? left : kTileGroups) - threadIdx.x;
        region.end_elements = left <= step ? end_elements : 0;
        stage(first_group_of(region.first_turn), region.left);
        sweep_region(region);
        for (unsigned part = 0; threadIdx.x % 32 == 0 && part < parts; ++part) {
            absorb(kept_of_warp(part, warp), left_by_warp(part, warp));
            left_by_warp(part, warp) = kept_of_warp(part, warp);
        }
        __syncwarp();
        if (left <= step) return;
        ++region.first_turn;
    }
}

/// The lanes of a warp find the patches of as many turns at once, because each takes several divisions.
__device__ __noinline__ void find_patches(unsigned first_turn) {
    if (threadIdx.x < kPatchesAhead)
        shared().next_patches[threadIdx.x] = patch_of(first_group_of(first_turn + threadIdx.x) / kTileGroups);
    __syncthreads();
}

/// Sweeps patches without a result for each. The groups stay in registers unless a thread has to read them
/// again.
template <unsigned kBytes, typename Kind>
__device__ __noinline__ void sweep_patches(const Region& region) {
    FloatPart<Kind, 0, 1> part;
    std::uint64_t hash = 0;
    const bool hashes = wants(shared_job().requested, Requested::hash);
    Turn turn;
    turn.from = shared().staged + threadIdx.x;
    turn.groups = kGroups;
    turn.in_last = 16 / kBytes;
    const std::int64_t step = groups_to_next_turn();
    if (threadIdx.x % 32 == 0) kept_of_warp(0, threadIdx.x / 32) = Located{};
    for (std::int64_t left = region.left; left > 0; left -= step) {
        if (turn.number % kPatchesAhead == 0) find_patches(turn.number);
        const Patch patch = shared().next_patches[turn.number % kPatchesAhead];
        uint4 groups[kGroups];
        turn_patch<kBytes>(patch, groups);
        if (hashes) hash += hash_of_groups<kBytes>(patch, groups);
        unsigned words[kWords];
#pragma unroll
        for (unsigned k = 0; k < kGroups; ++k)
            put_group(words, k, groups[k]);
        typename FloatPart<Kind, 0, 1>::Suspect suspect;
        const bool is_added = part.add_ordinary(words, turn, suspect);
        if (__syncthreads_or(is_added ? 0 : 1) != 0) {
            keep_groups(groups);
            if (!is_added) part.add_suspect(turn, suspect);
            __syncthreads();
        }
        ++turn.number;
    }
    part.template finish<false>();
    if (hashes) leave_hash(hash);
}

/// Returns false for kinds that are rare among transposed tensors.
__device__ bool sweep_common_patches(const Region& region) {
    const DeviceJob& job = shared_job();
    if (!is_patched()) return false;
    switch (job.dtype) {
        case DType::float32:
            sweep_patches<4, Float32>(region);
            return true;
        case DType::float16:
            sweep_patches<2, Float16>(region);
            return true;
        case DType::bfloat16:
            sweep_patches<2, BFloat16>(region);
            return true;
        default:
            return false;
    }
}

/// Part of sweep_common(), for findings only.
__device__ bool find_common(const Region& region) {
    switch (shared_job().dtype) {
        case DType::float32:
            sweep_here<4, false, true, FindingsOnly<Float32>>(region);
            return true;
        case DType::float16:
            sweep_here<2, false, true, FindingsOnly<Float16>>(region);
            return true;
        case DType::bfloat16:
            sweep_here<2, false, true, FindingsOnly<BFloat16>>(region);
            return true;
        default:
            return false;
    }
}

/// Inlines the most common kinds and requests into the kernel, because calls take a fifth of a launch over
/// small tensors. Returns false for all others.
__device__ bool sweep_common(const Region& region) {
    const DeviceJob& job = shared_job();
    if (wants(job.requested, Requested::hash)) return false;
    if (!wants(job.requested, Requested::printed | Requested::indices)) return find_common(region);
    switch (job.dtype) {
        case DType::float32:
            sweep_here<4, false, true, RealNumbers<Float32>>(region);
            return true;
        case DType::float16:
            sweep_here<2, false, true, RealNumbers<Float16>>(region);
            return true;
        case DType::bfloat16:
            sweep_here<2, false, true, RealNumbers<BFloat16>>(region);
            return true;
        default:
            return false;
    }
}

__device__ void sweep_job() {
    const DeviceJob& job = shared_job();
    const std::uint64_t bytes = job.count * job.bytes;
    const std::uint64_t whole_groups = bytes / 16;
    Region region;
    region.left = static_cast<std::int64_t>(whole_groups - first_group_of(0));
    region.from = reinterpret_cast<const uint4*>(job.data) + first_group_of(0);
    if (bytes % 16 != 0) region = with_end(region, whole_groups);
    __syncwarp();
    if (job.rank > 0 || job.data % 16 != 0 || job.bits.any()) {
        if (!sweep_common_patches(region)) sweep_staged(region);
    } else if (!sweep_common(region)) {
        sweep_region(region);
    }
}

/// Fetches what only some jobs need.
__device__ __noinline__ void fetch_more(const StatisticsLaunch& launch) {
    const DeviceJob& job = shared_job();
    for (unsigned d = threadIdx.x; d < job.rank; d += kBlockThreads)
        reinterpret_cast<DeviceDim*>(shared().dim_words)[d] = launch.dim[job.first_dim + d];
    if (is_float8(job.dtype))
        shared().float8[threadIdx.x] = decode_float8(job.dtype, static_cast<std::uint8_t>(threadIdx.x));
    __syncthreads();
}

/// Copies this block's job to shared memory and clears the counters.
__device__ void fetch_job(const StatisticsLaunch& launch) {
    constexpr unsigned kWordsOfJob = sizeof(DeviceJob) / 4;
    if (threadIdx.x < kWordsOfJob) {
        unsigned number = 0;
#pragma unroll
        for (unsigned step = kFirstJobStep; step > 0; step /= 2) {
            const unsigned later = number + step;
            if (later < launch.jobs && blockIdx.x >= launch.job[later].first_block) number = later;
        }
        reinterpret_cast<unsigned*>(shared().job_words)[threadIdx.x] =
            reinterpret_cast<const unsigned*>(&launch.job[number])[threadIdx.x];
    }
    clear_findings();
    __syncthreads();
    if (shared_job().rank > 0 || is_float8(shared_job().dtype)) fetch_more(launch);
}

}  // namespace statistics_kernel

}  // namespace aoti_dbg::device

extern "C" __global__ void __launch_bounds__(aoti_dbg::kBlockThreads, 4)
    aoti_dbg_stats(const __grid_constant__ aoti_dbg::StatisticsLaunch launch) {
    using namespace aoti_dbg;
    using namespace aoti_dbg::device;
    let_next_kernel_start();
    fetch_job(launch);
    wait_for_previous_kernels();
    sweep_job();
    __syncthreads();
    const DeviceJob& job = shared_job();
    if (const unsigned bytes = value_bytes(job.dtype, job.requested, job.count); bytes > 0)
        leave_values(bytes, launch.sequence);
    if (threadIdx.x < kFirstSpecials && first_special() != kNoIndex) locate_special();
    if (threadIdx.x < 32) leave_lines(launch.sequence);
}
