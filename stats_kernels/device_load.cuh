// Reads a tensor on the device in groups of 16 bytes in logical order. The fast path with vector loads is in
// statistics.cu. This file handles ends, any alignment and any strides, and searches for the index of an
// extreme. Must not read bytes that no element covers.
#pragma once

#include "stats_kernels/content_hash.hpp"
#include "stats_kernels/device_block.cuh"
#include "stats_kernels/device_patch.cuh"
#include "stats_kernels/math_bits.hpp"

namespace aoti_dbg::device {

struct Place {
    std::int64_t offset;  // in elements
    std::int64_t inner;   // index in the innermost dimension
};

__device__ __noinline__ Place place_of(std::uint64_t index) {
    const DeviceDim* dims = shared_dims();
    const int rank = shared_job().rank;
    Place place{0, 0};
    for (int d = rank - 1; d >= 0; --d) {
        const auto size = static_cast<std::uint64_t>(dims[d].size);
        const std::uint64_t rest = divide(index, size);
        const auto within = static_cast<std::int64_t>(index - rest * size);
        place.offset += within * dims[d].stride;
        if (d == rank - 1) place.inner = within;
        index = rest;
    }
    return place;
}

/// Gathers elements of `kBytes` from anywhere. The loads are independent, so all are in flight at once.
template <unsigned kBytes>
__device__ uint4 gather(std::uint64_t first, unsigned count) {
    using Bits = typename ElementBits<kBytes>::Type;
    constexpr unsigned kElements = 16 / kBytes;
    const DeviceJob& job = shared_job();
    const auto* data = reinterpret_cast<const Bits*>(job.data);
    const DeviceDim inner = shared_dims()[job.rank - 1];
    Place place = place_of(first);
    Bits bits[kElements];
#pragma unroll
    for (unsigned i = 0; i < kElements; ++i) {
        bits[i] = Bits{};
        if (i >= count) continue;
        if (place.inner == inner.size) place = place_of(first + i);
        bits[i] = data[place.offset];
        place.offset += inner.stride;
        ++place.inner;
    }
    unsigned words[4] = {0, 0, 0, 0};
#pragma unroll
    for (unsigned i = 0; i < kElements; ++i)
        put(words, i, bits[i]);
    return make_uint4(words[0], words[1], words[2], words[3]);
}

/// Loads `count` contiguous pieces of the type's width.
template <typename Bits>
__device__ uint4 load_run(const unsigned char* from, unsigned count) {
    constexpr unsigned kPieces = 16 / sizeof(Bits);
    const auto* pieces = reinterpret_cast<const Bits*>(from);
    Bits bits[kPieces];
#pragma unroll
    for (unsigned i = 0; i < kPieces; ++i)
        bits[i] = i < count ? pieces[i] : Bits{};
    unsigned words[4] = {0, 0, 0, 0};
#pragma unroll
    for (unsigned i = 0; i < kPieces; ++i)
        put(words, i, bits[i]);
    return make_uint4(words[0], words[1], words[2], words[3]);
}

__device__ inline uint4 load_bytes(const unsigned char* from, unsigned bytes) {
    const unsigned ends = static_cast<unsigned>(reinterpret_cast<std::uint64_t>(from) & 15U) | bytes;
    if (ends % 16 == 0) return load_run<uint4>(from, bytes / 16);
    if (ends % 8 == 0) return load_run<uint2>(from, bytes / 8);
    if (ends % 4 == 0) return load_run<unsigned>(from, bytes / 4);
    if (ends % 2 == 0) return load_run<unsigned short>(from, bytes / 2);
    return load_run<unsigned char>(from, bytes);
}

__device__ __noinline__ uint4 load_group_as_stored(std::uint64_t first, unsigned count, unsigned bytes) {
    const DeviceJob& job = shared_job();
    if (job.rank == 0)
        return load_bytes(reinterpret_cast<const unsigned char*>(job.data) + first * bytes, count * bytes);
    switch (bytes) {
        case 1:
            return gather<1>(first, count);
        case 2:
            return gather<2>(first, count);
        case 4:
            return gather<4>(first, count);
        case 8:
            return gather<8>(first, count);
        default:
            return gather<16>(first, count);
    }
}

/// The first `bytes` of `group` are elements. The rest is padding, which the hash takes as zeros.
__device__ __noinline__ uint4 with_flipped_signs(uint4 group, unsigned bytes) {
    const SignMask mask = sign_mask(shared_job().bits, shared_job().dtype);
    const auto kept = [bytes](std::uint64_t word, unsigned begin) {
        if (bytes >= begin + 8) return word;
        return bytes <= begin ? 0 : word & ((std::uint64_t{1} << (bytes - begin) * 8U) - 1);
    };
    const std::uint64_t low = kept(mask.low, 0);
    const std::uint64_t high = kept(mask.high, 8);
    group.x ^= static_cast<unsigned>(low);
    group.y ^= static_cast<unsigned>(low >> 32U);
    group.z ^= static_cast<unsigned>(high);
    group.w ^= static_cast<unsigned>(high >> 32U);
    return group;
}

/// Returns elements as the program sees them. `first` must start a group unless only one element is
/// requested.
__device__ inline uint4 load_group(std::uint64_t first, unsigned count, unsigned bytes) {
    const uint4 group = load_group_as_stored(first, count, bytes);
    return shared_job().bits.any() ? with_flipped_signs(group, count * bytes) : group;
}

/// Gathers a group within a row of the innermost dimension with independent loads.
template <unsigned kBytes>
__device__ uint4 gather_row(std::int64_t offset, std::int64_t stride) {
    using Bits = typename ElementBits<kBytes>::Type;
    const auto* data = reinterpret_cast<const Bits*>(shared_job().data) + offset;
    Bits bits[16 / kBytes];
#pragma unroll
    for (unsigned i = 0; i < 16 / kBytes; ++i)
        bits[i] = data[i * stride];
    unsigned words[4] = {0, 0, 0, 0};
#pragma unroll
    for (unsigned i = 0; i < 16 / kBytes; ++i)
        put(words, i, bits[i]);
    return make_uint4(words[0], words[1], words[2], words[3]);
}

/// Stages a tile with any strides into shared memory. Each thread handles whole groups, for wide elements all
/// at once.
template <unsigned kBytes>
__device__ void stage_strided(std::uint64_t first_group, std::int64_t left) {
    constexpr unsigned kElements = 16 / kBytes;
    constexpr unsigned kAtOnce = kBytes >= 4 ? kGroups : 1;
    const DeviceDim inner = shared_dims()[shared_job().rank - 1];
#pragma unroll 1
    for (unsigned begin = 0; begin < kGroups * kBlockThreads; begin += kAtOnce * kBlockThreads) {
        std::int64_t offsets[kAtOnce];
        bool in_rows = true;
#pragma unroll
        for (unsigned k = 0; k < kAtOnce; ++k) {
            const unsigned group = begin + k * kBlockThreads;
            const Place place = place_of(group < left ? (first_group + group) * kElements : 0);
            offsets[k] = place.offset;
            in_rows = in_rows && place.inner + kElements <= inner.size;
        }
        uint4 groups[kAtOnce];
        if (in_rows) {
#pragma unroll
            for (unsigned k = 0; k < kAtOnce; ++k)
                groups[k] = gather_row<kBytes>(offsets[k], inner.stride);
        }
#pragma unroll
        for (unsigned k = 0; k < kAtOnce; ++k) {
            const unsigned group = begin + k * kBlockThreads;
            if (group >= left) continue;
            shared().staged[threadIdx.x + group] =
                in_rows ? groups[k]
                        : load_group_as_stored((first_group + group) * kElements, kElements, kBytes);
        }
    }
}

/// Stages a tile of whole groups from anywhere. All loads of a thread are in flight at once.
__device__ __noinline__ void stage_groups(std::uint64_t first_group, std::int64_t left) {
    const DeviceJob& job = shared_job();
    const unsigned in_group = 16 / job.bytes;
    const auto* data = reinterpret_cast<const unsigned char*>(job.data);
    uint4 groups[kGroups];
#pragma unroll
    for (unsigned k = 0; k < kGroups; ++k) {
        const unsigned group = k * kBlockThreads < left ? k * kBlockThreads : 0;
        const std::int64_t offset = place_of((first_group + group) * in_group).offset;
        groups[k] = *reinterpret_cast<const uint4*>(data + offset * job.bytes);
    }
#pragma unroll
    for (unsigned k = 0; k < kGroups; ++k)
        if (k * kBlockThreads < left) shared().staged[threadIdx.x + k * kBlockThreads] = groups[k];
}

__device__ __noinline__ void stage_as_stored(std::uint64_t first_group, std::int64_t left) {
    const unsigned bytes = shared_job().bytes;
    if (shared_job().strided_load == StridedLoad::groups) return stage_groups(first_group, left);
    if (shared_job().rank > 0) {
        switch (bytes) {
            case 1:
                return stage_strided<1>(first_group, left);
            case 2:
                return stage_strided<2>(first_group, left);
            case 4:
                return stage_strided<4>(first_group, left);
            case 8:
                return stage_strided<8>(first_group, left);
            default:
                return stage_strided<16>(first_group, left);
        }
    }
    for (unsigned k = 0; k < kTileGroups && k < left; k += kBlockThreads)
        shared().staged[threadIdx.x + k] =
            load_group_as_stored((first_group + k) * (16 / bytes), 16 / bytes, bytes);
}

/// Stages the calling thread's groups of a tile, as the program sees the elements.
__device__ __noinline__ void stage(std::uint64_t first_group, std::int64_t left) {
    if (left <= 0) return;
    if (is_patched()) return stage_patch((first_group - threadIdx.x) / kTileGroups);
    stage_as_stored(first_group, left);
    if (!shared_job().bits.any()) return;
    for (unsigned k = 0; k < kTileGroups && k < left; k += kBlockThreads)
        shared().staged[threadIdx.x + k] = with_flipped_signs(shared().staged[threadIdx.x + k], 16);
}

/// A thread's share of a tile: up to kGroups groups, kBlockThreads apart.
struct Turn {
    const uint4* from = nullptr;
    unsigned groups = 0;
    unsigned in_last = 0;  // elements of the last group
    unsigned number = 0;   // index among this thread's turns
    unsigned before = 0;   // groups of that turn before `from`
};

__device__ inline std::uint64_t first_group_of(unsigned turn) {
    const DeviceJob& job = shared_job();
    const std::uint64_t tile = blockIdx.x - job.first_block + std::uint64_t{turn} * job.blocks;
    return tile * kTileGroups + threadIdx.x;
}

/// The groups of a thread's turn.
struct TurnGroups {
    std::uint64_t first;
    std::uint64_t step;  // from each to the next
};

/// A patch must be the staged one.
__device__ inline TurnGroups groups_of(unsigned turn) {
    if (!is_patched()) return {first_group_of(turn), kBlockThreads};
    const unsigned between = groups_between(shared_job().bytes);
    return {own_group(shared().patch, between), between};
}

__device__ inline TurnGroups groups_of_any(unsigned turn) {
    if (!is_patched()) return groups_of(turn);
    const unsigned between = groups_between(shared_job().bytes);
    return {own_group(patch_of(first_group_of(turn) / kTileGroups), between), between};
}

/// Iterates over the numbers in a group. It serves rare cases that do not justify unrolled code.
class GroupBits {
  public:
    __device__ explicit GroupBits(const uint4& group)
        : low_(std::uint64_t{group.y} << 32U | group.x), high_(std::uint64_t{group.w} << 32U | group.z) {}

    /// `bits` is 4 to 64.
    __device__ std::uint64_t next(unsigned bits) {
        const std::uint64_t number = low_ << (64 - bits) >> (64 - bits);
        low_ = bits == 64 ? high_ : low_ >> bits | high_ << (64 - bits);
        high_ = bits == 64 ? 0 : high_ >> bits;
        return number;
    }

  private:
    std::uint64_t low_;
    std::uint64_t high_;
};

/// One function handles every dtype of floats, because this case is rare.
__device__ inline double number_of_bits(DType dtype, std::uint64_t bits) {
    switch (dtype) {
        case DType::float64:
            return double_of_bits(bits);
        case DType::float32:
            return static_cast<double>(float_of_bits(static_cast<std::uint32_t>(bits)));
        case DType::float16:
            return static_cast<double>(decode_float16(static_cast<std::uint16_t>(bits)));
        case DType::bfloat16:
            return static_cast<double>(decode_bfloat16(static_cast<std::uint16_t>(bits)));
        case DType::float4_e2m1fn_x2:
            return static_cast<double>(decode_float4(static_cast<std::uint8_t>(bits)));
        default:
            return static_cast<double>(shared().float8[bits]);
    }
}

__device__ inline std::uint64_t key_of_bits(DType dtype, std::uint64_t bits) {
    const unsigned unused = 64 - 8 * element_size(dtype);
    if (!is_integer(dtype)) return key_of(number_of_bits(dtype, bits));
    if (dtype == DType::boolean) return key_of(std::uint64_t{bits != 0});
    if (is_unsigned(dtype)) return key_of(bits);
    return key_of(static_cast<std::int64_t>(bits << unused) >> unused);
}

/// Returns where the warp first saw an extreme. Each lane that has it knows its turn, and all lanes search
/// there. Usually this searches one lane's turn, because turns after the found index are skipped.
__device__ __noinline__ std::uint64_t index_of_extreme(bool has_it, unsigned turn, unsigned part,
                                                       std::uint64_t key) {
    const DeviceJob& job = shared_job();
    const unsigned bytes = job.bytes;
    const unsigned number_bits = 8 * bytes / numbers_in_element(job.dtype);
    const unsigned in_group = 16 / bytes;
    const TurnGroups groups = groups_of_any(turn);
    const std::uint64_t earliest = groups.first * in_group;
    std::uint64_t found = kNoIndex;
    for (;;) {
        const unsigned candidates = __ballot_sync(kAllLanes, has_it && earliest < found);
        if (candidates == 0) return found;
        const unsigned lane = threadIdx.x % 32;
        const unsigned candidate = __ffs(static_cast<int>(candidates)) - 1;
        const std::uint64_t first =
            __shfl_sync(kAllLanes, static_cast<unsigned long long>(earliest), candidate);
        if (lane == candidate) has_it = false;
        for (unsigned i = lane; i < kGroups * in_group; i += 32) {
            const std::uint64_t index = first + i / in_group * groups.step * in_group + i % in_group;
            if (index >= job.count) break;
            GroupBits bits(load_group(index, 1, bytes));
            if (part == 1) bits.next(number_bits);
            bool is_there = key_of_bits(part_dtype(job.dtype), bits.next(number_bits)) == key;
            if (is_packed(job.dtype))
                is_there = is_there || key_of_bits(job.dtype, bits.next(number_bits)) == key;
            if (is_there) take_lower(found, index);
        }
        __syncwarp();
        found = least_of_lanes(found);
    }
}

/// One for each part and kind of special.
inline constexpr unsigned kFirstSpecials = 6;

/// Returns that of the calling thread. A sweep leaves there the first group with such a special.
__device__ inline unsigned long long& first_special() {
    return (&shared().specials[threadIdx.x / 3].first_nan)[threadIdx.x % 3];
}

/// Replaces the number of the group by that of the element. Nothing is live where it is called, so that it
/// costs tensors without specials nothing.
__device__ __noinline__ void locate_special() {
    const DeviceJob& job = shared_job();
    const unsigned part = threadIdx.x / 3;
    const unsigned kind = threadIdx.x % 3;
    unsigned long long& first = first_special();
    const unsigned in_group = 16 / job.bytes;
    const unsigned parts = is_complex(job.dtype) ? 2 : 1;
    const std::uint64_t begin = first * in_group;
    const std::uint64_t left = job.count - begin;
    const unsigned count = left < in_group ? static_cast<unsigned>(left) : in_group;
    GroupBits bits(load_group(begin, count, job.bytes));
    for (unsigned i = 0; i < count * parts; ++i) {
        const double number = number_of_bits(part_dtype(job.dtype), bits.next(8 * job.bytes / parts));
        if (i % parts != part || number - number == 0) continue;
        if (kind == (number != number ? 0U : (number > 0 ? 1U : 2U))) {
            first = begin + i / parts;
            return;
        }
    }
}

}  // namespace aoti_dbg::device
