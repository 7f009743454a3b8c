// The hooks of calls that copy memory. Copies from arrays to arrays or host memory are not hooked.
#include "shim/hooks/forward.hpp"  // first, because it configures cuda.h

#include "shim/hooks/copy_ranges.hpp"

using namespace aoti_dbg;

namespace {

// The host waits for a copy to pageable memory only.
DriverEvent fetches(const void* to, CUdeviceptr from, size_t bytes, CUstream stream) {
    return reads(from, bytes)
        .on(stream)
        .awaiting(of_stream(stream))
        .complete_if_pageable(reinterpret_cast<CUdeviceptr>(to));
}

/// Of a copy of rows between peers, only the order of the work counts, and its kernel.
DriverEvent works_on(CUstream stream, const CopyRanges& counted) {
    return {.kind = DriverKind::work, .stream = stream, .memory = counted};
}

/// Attributes may let the copies run at an unknown time.
DriverEvent copies_batch(const CopyBatch& batch, CUstream stream) {
    return {.kind = DriverKind::signal, .stream = stream, .batch = batch};
}

}  // namespace

// ---- copies that are complete when they return ----

AOTI_DBG_EXPORT CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
    return forward<cuMemcpy>([=] { return copies(to, from, bytes).blocking_on(legacy()); }, to, from, bytes);
}

AOTI_DBG_EXPORT CUresult cuMemcpy_ptds(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
    return forward<cuMemcpy_ptds>([=] { return copies(to, from, bytes).blocking_on(per_thread()); }, to, from,
                                  bytes);
}

AOTI_DBG_EXPORT CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void* from, size_t bytes) {
    return forward<cuMemcpyHtoD_v2>([=] { return writes(to, bytes).blocking_on(legacy()); }, to, from, bytes);
}

AOTI_DBG_EXPORT CUresult cuMemcpyHtoD_v2_ptds(CUdeviceptr to, const void* from, size_t bytes) {
    return forward<cuMemcpyHtoD_v2_ptds>([=] { return writes(to, bytes).blocking_on(per_thread()); }, to,
                                         from, bytes);
}

AOTI_DBG_EXPORT CUresult cuMemcpyDtoH_v2(void* to, CUdeviceptr from, size_t bytes) {
    return forward<cuMemcpyDtoH_v2, ThroughFault>([=] { return reads(from, bytes).blocking_on(legacy()); },
                                                  to, from, bytes);
}

AOTI_DBG_EXPORT CUresult cuMemcpyDtoH_v2_ptds(void* to, CUdeviceptr from, size_t bytes) {
    return forward<cuMemcpyDtoH_v2_ptds, ThroughFault>(
        [=] { return reads(from, bytes).blocking_on(per_thread()); }, to, from, bytes);
}

// Does not wait for the device.

AOTI_DBG_EXPORT CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
    return forward<cuMemcpyDtoD_v2>([=] { return copies(to, from, bytes).among_all_on(legacy()); }, to, from,
                                    bytes);
}

AOTI_DBG_EXPORT CUresult cuMemcpyDtoD_v2_ptds(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
    return forward<cuMemcpyDtoD_v2_ptds>([=] { return copies(to, from, bytes).among_all_on(per_thread()); },
                                         to, from, bytes);
}

AOTI_DBG_EXPORT CUresult cuMemcpyDtoA_v2(CUarray to, size_t offset, CUdeviceptr from, size_t bytes) {
    return forward<cuMemcpyDtoA_v2>([=] { return reads(from, bytes).blocking_on(legacy()); }, to, offset,
                                    from, bytes);
}

AOTI_DBG_EXPORT CUresult cuMemcpyDtoA_v2_ptds(CUarray to, size_t offset, CUdeviceptr from, size_t bytes) {
    return forward<cuMemcpyDtoA_v2_ptds>([=] { return reads(from, bytes).blocking_on(per_thread()); }, to,
                                         offset, from, bytes);
}

AOTI_DBG_EXPORT CUresult cuMemcpyAtoD_v2(CUdeviceptr to, CUarray from, size_t offset, size_t bytes) {
    return forward<cuMemcpyAtoD_v2>([=] { return writes(to, bytes).blocking_on(legacy()); }, to, from, offset,
                                    bytes);
}

AOTI_DBG_EXPORT CUresult cuMemcpyAtoD_v2_ptds(CUdeviceptr to, CUarray from, size_t offset, size_t bytes) {
    return forward<cuMemcpyAtoD_v2_ptds>([=] { return writes(to, bytes).blocking_on(per_thread()); }, to,
                                         from, offset, bytes);
}

AOTI_DBG_EXPORT CUresult cuMemcpyPeer(CUdeviceptr to, CUcontext there, CUdeviceptr from, CUcontext here,
                                      size_t bytes) {
    return forward<cuMemcpyPeer>([=] { return between_peers(copies(to, from, bytes)).blocking_on(legacy()); },
                                 to, there, from, here, bytes);
}

AOTI_DBG_EXPORT CUresult cuMemcpyPeer_ptds(CUdeviceptr to, CUcontext there, CUdeviceptr from, CUcontext here,
                                           size_t bytes) {
    return forward<cuMemcpyPeer_ptds>(
        [=] { return between_peers(copies(to, from, bytes)).blocking_on(per_thread()); }, to, there, from,
        here, bytes);
}

AOTI_DBG_EXPORT CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D* copy) {
    return forward<cuMemcpy2D_v2>([=] { return copies(copy).blocking_on(legacy()); }, copy);
}

AOTI_DBG_EXPORT CUresult cuMemcpy2D_v2_ptds(const CUDA_MEMCPY2D* copy) {
    return forward<cuMemcpy2D_v2_ptds>([=] { return copies(copy).blocking_on(per_thread()); }, copy);
}

AOTI_DBG_EXPORT CUresult cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D* copy) {
    return forward<cuMemcpy2DUnaligned_v2>([=] { return copies(copy).blocking_on(legacy()); }, copy);
}

AOTI_DBG_EXPORT CUresult cuMemcpy2DUnaligned_v2_ptds(const CUDA_MEMCPY2D* copy) {
    return forward<cuMemcpy2DUnaligned_v2_ptds>([=] { return copies(copy).blocking_on(per_thread()); }, copy);
}

AOTI_DBG_EXPORT CUresult cuMemcpy3D_v2(const CUDA_MEMCPY3D* copy) {
    return forward<cuMemcpy3D_v2>([=] { return copies(copy).blocking_on(legacy()); }, copy);
}

AOTI_DBG_EXPORT CUresult cuMemcpy3D_v2_ptds(const CUDA_MEMCPY3D* copy) {
    return forward<cuMemcpy3D_v2_ptds>([=] { return copies(copy).blocking_on(per_thread()); }, copy);
}

AOTI_DBG_EXPORT CUresult cuMemcpy3DPeer(const CUDA_MEMCPY3D_PEER* copy) {
    return forward<cuMemcpy3DPeer>([=] { return between_peers(copies(copy)).blocking_on(legacy()); }, copy);
}

AOTI_DBG_EXPORT CUresult cuMemcpy3DPeer_ptds(const CUDA_MEMCPY3D_PEER* copy) {
    return forward<cuMemcpy3DPeer_ptds>([=] { return between_peers(copies(copy)).blocking_on(per_thread()); },
                                        copy);
}

// ---- copies in stream order ----

AOTI_DBG_EXPORT CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
    return forward<cuMemcpyAsync>(
        [=] { return copies(to, from, bytes).on(legacy(stream)).complete_if_pageable(to); }, to, from, bytes,
        stream);
}

AOTI_DBG_EXPORT CUresult cuMemcpyAsync_ptsz(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
    return forward<cuMemcpyAsync_ptsz>(
        [=] { return copies(to, from, bytes).on(per_thread(stream)).complete_if_pageable(to); }, to, from,
        bytes, stream);
}

AOTI_DBG_EXPORT CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void* from, size_t bytes,
                                              CUstream stream) {
    return forward<cuMemcpyHtoDAsync_v2>([=] { return writes(to, bytes).on(legacy(stream)); }, to, from,
                                         bytes, stream);
}

AOTI_DBG_EXPORT CUresult cuMemcpyHtoDAsync_v2_ptsz(CUdeviceptr to, const void* from, size_t bytes,
                                                   CUstream stream) {
    return forward<cuMemcpyHtoDAsync_v2_ptsz>([=] { return writes(to, bytes).on(per_thread(stream)); }, to,
                                              from, bytes, stream);
}

AOTI_DBG_EXPORT CUresult cuMemcpyDtoHAsync_v2(void* to, CUdeviceptr from, size_t bytes, CUstream stream) {
    return forward<cuMemcpyDtoHAsync_v2, ThroughFault>(
        [=] { return fetches(to, from, bytes, legacy(stream)); }, to, from, bytes, stream);
}

AOTI_DBG_EXPORT CUresult cuMemcpyDtoHAsync_v2_ptsz(void* to, CUdeviceptr from, size_t bytes,
                                                   CUstream stream) {
    return forward<cuMemcpyDtoHAsync_v2_ptsz, ThroughFault>(
        [=] { return fetches(to, from, bytes, per_thread(stream)); }, to, from, bytes, stream);
}

AOTI_DBG_EXPORT CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes,
                                              CUstream stream) {
    return forward<cuMemcpyDtoDAsync_v2>([=] { return copies(to, from, bytes).on(legacy(stream)); }, to, from,
                                         bytes, stream);
}

AOTI_DBG_EXPORT CUresult cuMemcpyDtoDAsync_v2_ptsz(CUdeviceptr to, CUdeviceptr from, size_t bytes,
                                                   CUstream stream) {
    return forward<cuMemcpyDtoDAsync_v2_ptsz>([=] { return copies(to, from, bytes).on(per_thread(stream)); },
                                              to, from, bytes, stream);
}

AOTI_DBG_EXPORT CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext there, CUdeviceptr from, CUcontext here,
                                           size_t bytes, CUstream stream) {
    return forward<cuMemcpyPeerAsync>([=] { return copies(to, from, bytes).on(legacy(stream)); }, to, there,
                                      from, here, bytes, stream);
}

AOTI_DBG_EXPORT CUresult cuMemcpyPeerAsync_ptsz(CUdeviceptr to, CUcontext there, CUdeviceptr from,
                                                CUcontext here, size_t bytes, CUstream stream) {
    return forward<cuMemcpyPeerAsync_ptsz>([=] { return copies(to, from, bytes).on(per_thread(stream)); }, to,
                                           there, from, here, bytes, stream);
}

AOTI_DBG_EXPORT CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D* copy, CUstream stream) {
    return forward<cuMemcpy2DAsync_v2>(
        [=] { return copies(copy).on(legacy(stream)).complete_if_pageable(target_of(copy)); }, copy, stream);
}

AOTI_DBG_EXPORT CUresult cuMemcpy2DAsync_v2_ptsz(const CUDA_MEMCPY2D* copy, CUstream stream) {
    return forward<cuMemcpy2DAsync_v2_ptsz>(
        [=] { return copies(copy).on(per_thread(stream)).complete_if_pageable(target_of(copy)); }, copy,
        stream);
}

AOTI_DBG_EXPORT CUresult cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D* copy, CUstream stream) {
    return forward<cuMemcpy3DAsync_v2>(
        [=] { return copies(copy).on(legacy(stream)).complete_if_pageable(target_of(copy)); }, copy, stream);
}

AOTI_DBG_EXPORT CUresult cuMemcpy3DAsync_v2_ptsz(const CUDA_MEMCPY3D* copy, CUstream stream) {
    return forward<cuMemcpy3DAsync_v2_ptsz>(
        [=] { return copies(copy).on(per_thread(stream)).complete_if_pageable(target_of(copy)); }, copy,
        stream);
}

AOTI_DBG_EXPORT CUresult cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER* copy, CUstream stream) {
    return forward<cuMemcpy3DPeerAsync>([=] { return works_on(legacy(stream), ranges_of(copy)); }, copy,
                                        stream);
}

AOTI_DBG_EXPORT CUresult cuMemcpy3DPeerAsync_ptsz(const CUDA_MEMCPY3D_PEER* copy, CUstream stream) {
    return forward<cuMemcpy3DPeerAsync_ptsz>([=] { return works_on(per_thread(stream), ranges_of(copy)); },
                                             copy, stream);
}

// ---- batches, whose copies are only counted ----

AOTI_DBG_EXPORT CUresult cuMemcpyBatchAsync(CUdeviceptr* to, CUdeviceptr* from, size_t* bytes, size_t count,
                                            CUmemcpyAttributes* attributes, size_t* indices,
                                            size_t attribute_count, size_t* failed, CUstream stream) {
    return forward<cuMemcpyBatchAsync>(
        [=] {
            return copies_batch({to, from, bytes, count}, legacy(stream));
        },
        to, from, bytes, count, attributes, indices, attribute_count, failed, stream);
}

AOTI_DBG_EXPORT CUresult cuMemcpyBatchAsync_ptsz(CUdeviceptr* to, CUdeviceptr* from, size_t* bytes,
                                                 size_t count, CUmemcpyAttributes* attributes,
                                                 size_t* indices, size_t attribute_count, size_t* failed,
                                                 CUstream stream) {
    return forward<cuMemcpyBatchAsync_ptsz>(
        [=] {
            return copies_batch({to, from, bytes, count}, per_thread(stream));
        },
        to, from, bytes, count, attributes, indices, attribute_count, failed, stream);
}

AOTI_DBG_EXPORT CUresult cuMemcpyBatchAsync_v2(CUdeviceptr* to, CUdeviceptr* from, size_t* bytes,
                                               size_t count, CUmemcpyAttributes* attributes, size_t* indices,
                                               size_t attribute_count, CUstream stream) {
    return forward<cuMemcpyBatchAsync_v2>(
        [=] {
            return copies_batch({to, from, bytes, count}, legacy(stream));
        },
        to, from, bytes, count, attributes, indices, attribute_count, stream);
}

AOTI_DBG_EXPORT CUresult cuMemcpyBatchAsync_v2_ptsz(CUdeviceptr* to, CUdeviceptr* from, size_t* bytes,
                                                    size_t count, CUmemcpyAttributes* attributes,
                                                    size_t* indices, size_t attribute_count,
                                                    CUstream stream) {
    return forward<cuMemcpyBatchAsync_v2_ptsz>(
        [=] {
            return copies_batch({to, from, bytes, count}, per_thread(stream));
        },
        to, from, bytes, count, attributes, indices, attribute_count, stream);
}

AOTI_DBG_EXPORT CUresult cuMemcpy3DBatchAsync(size_t count, CUDA_MEMCPY3D_BATCH_OP* list, size_t* failed,
                                              unsigned long long flags, CUstream stream) {
    return forward<cuMemcpy3DBatchAsync>([=] { return copies_batch({}, legacy(stream)); }, count, list,
                                         failed, flags, stream);
}

AOTI_DBG_EXPORT CUresult cuMemcpy3DBatchAsync_ptsz(size_t count, CUDA_MEMCPY3D_BATCH_OP* list, size_t* failed,
                                                   unsigned long long flags, CUstream stream) {
    return forward<cuMemcpy3DBatchAsync_ptsz>([=] { return copies_batch({}, per_thread(stream)); }, count,
                                              list, failed, flags, stream);
}

AOTI_DBG_EXPORT CUresult cuMemcpy3DBatchAsync_v2(size_t count, CUDA_MEMCPY3D_BATCH_OP* list,
                                                 unsigned long long flags, CUstream stream) {
    return forward<cuMemcpy3DBatchAsync_v2>([=] { return copies_batch({}, legacy(stream)); }, count, list,
                                            flags, stream);
}

AOTI_DBG_EXPORT CUresult cuMemcpy3DBatchAsync_v2_ptsz(size_t count, CUDA_MEMCPY3D_BATCH_OP* list,
                                                      unsigned long long flags, CUstream stream) {
    return forward<cuMemcpy3DBatchAsync_v2_ptsz>([=] { return copies_batch({}, per_thread(stream)); }, count,
                                                 list, flags, stream);
}
