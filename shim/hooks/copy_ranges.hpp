// The events of copies and fills, and the memory that they access, derived from the arguments of the driver's
// functions. Arrays and host memory have no range.
#pragma once

#include <cuda.h>

#include <cstddef>

#include "shim/calls/driver_event.hpp"

namespace aoti_dbg {

inline DriverEvent accesses(const CopyRanges& memory) {
    return {.kind = DriverKind::access, .memory = memory};
}
inline DriverEvent copies(CUdeviceptr to, CUdeviceptr from, std::size_t bytes) {
    return accesses({{from, bytes}, {to, bytes}});
}
inline DriverEvent writes(CUdeviceptr to, std::size_t bytes) {
    return accesses({{}, {to, bytes}});
}
inline DriverEvent reads(CUdeviceptr from, std::size_t bytes) {
    return accesses({{from, bytes}, {}});
}
inline DriverEvent fills(CUdeviceptr to, std::size_t row, std::size_t rows = 1, std::size_t pitch = 0) {
    DriverEvent event = writes(to, row);
    event.fill = {rows, pitch};
    return event;
}

/// Returns the first row of the source and of the target, because the gaps between rows are not accessed.
template <typename Copy>
CopyRanges first_rows(const Copy& copy, std::size_t from_row, std::size_t to_row, std::size_t rows) {
    const std::size_t bytes = rows == 0 ? 0 : copy.WidthInBytes;
    const auto bytes_in = [bytes](CUmemorytype type) {
        return type == CU_MEMORYTYPE_DEVICE || type == CU_MEMORYTYPE_UNIFIED ? bytes : 0;
    };
    const CUdeviceptr from = copy.srcDevice + from_row * copy.srcPitch + copy.srcXInBytes;
    const CUdeviceptr to = copy.dstDevice + to_row * copy.dstPitch + copy.dstXInBytes;
    return {{from, bytes_in(copy.srcMemoryType)}, {to, bytes_in(copy.dstMemoryType)}};
}
inline CopyRanges ranges_of(const CUDA_MEMCPY2D* copy) {
    return copy == nullptr ? CopyRanges{} : first_rows(*copy, copy->srcY, copy->dstY, copy->Height);
}
/// Handles CUDA_MEMCPY3D and its variant for peers.
template <typename Copy>
CopyRanges ranges_of(const Copy* copy) {
    if (copy == nullptr) return {};
    return first_rows(*copy, copy->srcZ * copy->srcHeight + copy->srcY,
                      copy->dstZ * copy->dstHeight + copy->dstY, copy->Height * copy->Depth);
}
template <typename Copy>
DriverEvent copies(const Copy* copy) {
    return accesses(ranges_of(copy));
}

inline DriverEvent between_peers(DriverEvent event) {
    event.memory.is_between_peers = true;
    return event;
}

/// Returns the target of a copy of rows. The target must not be an array.
template <typename Copy>
CUdeviceptr target_of(const Copy* copy) {
    if (copy == nullptr) return 0;
    return copy->dstMemoryType == CU_MEMORYTYPE_HOST ? reinterpret_cast<CUdeviceptr>(copy->dstHost)
                                                     : copy->dstDevice;
}

}  // namespace aoti_dbg
