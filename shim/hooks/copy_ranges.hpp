// The memory that a copy or a set accesses, derived from the arguments of the driver's functions.
#pragma once

#include <cuda.h>

#include <cstddef>

#include "shim/check/stream_order.hpp"

namespace aoti_dbg::touched {

using Touch = StreamOrder::Touch;
using Use = StreamOrder::Use;

struct Touched {
    Touch first;
    Touch second;
    bool is_of_peers = false;  // ordered with the streams of both devices
};

inline Touched copied(CUdeviceptr to, CUdeviceptr from, std::size_t bytes) {
    return {{from, bytes, Use::reads}, {to, bytes, Use::writes}};
}
inline Touched written(CUdeviceptr to, std::size_t bytes) {
    return {{to, bytes, Use::writes}, {}};
}
inline Touched fetched(CUdeviceptr from, std::size_t bytes) {
    return {{from, bytes, Use::reads}, {}};
}

/// Returns the first row of the source and of the target, because the gaps between rows are not accessed.
/// Arrays and host memory have no range.
template <typename Copy>
Touched first_rows(const Copy& copy, std::size_t from_row, std::size_t to_row, std::size_t rows) {
    const std::size_t bytes = rows == 0 ? 0 : copy.WidthInBytes;
    const auto bytes_in = [bytes](CUmemorytype type) {
        return type == CU_MEMORYTYPE_DEVICE || type == CU_MEMORYTYPE_UNIFIED ? bytes : 0;
    };
    const CUdeviceptr from = copy.srcDevice + from_row * copy.srcPitch + copy.srcXInBytes;
    const CUdeviceptr to = copy.dstDevice + to_row * copy.dstPitch + copy.dstXInBytes;
    return {{from, bytes_in(copy.srcMemoryType), Use::reads},
            {to, bytes_in(copy.dstMemoryType), Use::writes}};
}
inline Touched copied(const CUDA_MEMCPY2D* copy) {
    return copy == nullptr ? Touched{} : first_rows(*copy, copy->srcY, copy->dstY, copy->Height);
}
/// Handles CUDA_MEMCPY3D and its variant for peers.
template <typename Copy>
Touched copied(const Copy* copy) {
    if (copy == nullptr) return {};
    return first_rows(*copy, copy->srcZ * copy->srcHeight + copy->srcY,
                      copy->dstZ * copy->dstHeight + copy->dstY, copy->Height * copy->Depth);
}

inline Touched between_peers(Touched touched) {
    touched.is_of_peers = true;
    return touched;
}

/// Returns the target of a copy of rows. The target must not be an array.
template <typename Copy>
CUdeviceptr target_of(const Copy* copy) {
    if (copy == nullptr) return 0;
    return copy->dstMemoryType == CU_MEMORYTYPE_HOST ? reinterpret_cast<CUdeviceptr>(copy->dstHost)
                                                     : copy->dstDevice;
}

}  // namespace aoti_dbg::touched
