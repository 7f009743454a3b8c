// The hooks of calls that fill memory.
#include "shim/hooks/forward.hpp"  // first, because it configures cuda.h

#include "shim/hooks/copy_ranges.hpp"

using namespace aoti_dbg;

// ---- units of 8 bits ----

AOTI_DBG_EXPORT CUresult cuMemsetD8_v2(CUdeviceptr to, unsigned char value, size_t count) {
    return forward<cuMemsetD8_v2>([=] { return fills(to, count).among_all_on(legacy()); }, to, value, count);
}

AOTI_DBG_EXPORT CUresult cuMemsetD8_v2_ptds(CUdeviceptr to, unsigned char value, size_t count) {
    return forward<cuMemsetD8_v2_ptds>([=] { return fills(to, count).among_all_on(per_thread()); }, to, value,
                                       count);
}

AOTI_DBG_EXPORT CUresult cuMemsetD2D8_v2(CUdeviceptr to, size_t pitch, unsigned char value, size_t width,
                                         size_t height) {
    return forward<cuMemsetD2D8_v2>([=] { return fills(to, width, height, pitch).among_all_on(legacy()); },
                                    to, pitch, value, width, height);
}

AOTI_DBG_EXPORT CUresult cuMemsetD2D8_v2_ptds(CUdeviceptr to, size_t pitch, unsigned char value, size_t width,
                                              size_t height) {
    return forward<cuMemsetD2D8_v2_ptds>(
        [=] { return fills(to, width, height, pitch).among_all_on(per_thread()); }, to, pitch, value, width,
        height);
}

AOTI_DBG_EXPORT CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count, CUstream stream) {
    return forward<cuMemsetD8Async>([=] { return fills(to, count).on(legacy(stream)); }, to, value, count,
                                    stream);
}

AOTI_DBG_EXPORT CUresult cuMemsetD8Async_ptsz(CUdeviceptr to, unsigned char value, size_t count,
                                              CUstream stream) {
    return forward<cuMemsetD8Async_ptsz>([=] { return fills(to, count).on(per_thread(stream)); }, to, value,
                                         count, stream);
}

AOTI_DBG_EXPORT CUresult cuMemsetD2D8Async(CUdeviceptr to, size_t pitch, unsigned char value, size_t width,
                                           size_t height, CUstream stream) {
    return forward<cuMemsetD2D8Async>([=] { return fills(to, width, height, pitch).on(legacy(stream)); }, to,
                                      pitch, value, width, height, stream);
}

AOTI_DBG_EXPORT CUresult cuMemsetD2D8Async_ptsz(CUdeviceptr to, size_t pitch, unsigned char value,
                                                size_t width, size_t height, CUstream stream) {
    return forward<cuMemsetD2D8Async_ptsz>(
        [=] { return fills(to, width, height, pitch).on(per_thread(stream)); }, to, pitch, value, width,
        height, stream);
}

// ---- units of 16 bits ----

AOTI_DBG_EXPORT CUresult cuMemsetD16_v2(CUdeviceptr to, unsigned short value, size_t count) {
    return forward<cuMemsetD16_v2>([=] { return fills(to, 2 * count).among_all_on(legacy()); }, to, value,
                                   count);
}

AOTI_DBG_EXPORT CUresult cuMemsetD16_v2_ptds(CUdeviceptr to, unsigned short value, size_t count) {
    return forward<cuMemsetD16_v2_ptds>([=] { return fills(to, 2 * count).among_all_on(per_thread()); }, to,
                                        value, count);
}

AOTI_DBG_EXPORT CUresult cuMemsetD2D16_v2(CUdeviceptr to, size_t pitch, unsigned short value, size_t width,
                                          size_t height) {
    return forward<cuMemsetD2D16_v2>(
        [=] { return fills(to, 2 * width, height, pitch).among_all_on(legacy()); }, to, pitch, value, width,
        height);
}

AOTI_DBG_EXPORT CUresult cuMemsetD2D16_v2_ptds(CUdeviceptr to, size_t pitch, unsigned short value,
                                               size_t width, size_t height) {
    return forward<cuMemsetD2D16_v2_ptds>(
        [=] { return fills(to, 2 * width, height, pitch).among_all_on(per_thread()); }, to, pitch, value,
        width, height);
}

AOTI_DBG_EXPORT CUresult cuMemsetD16Async(CUdeviceptr to, unsigned short value, size_t count,
                                          CUstream stream) {
    return forward<cuMemsetD16Async>([=] { return fills(to, 2 * count).on(legacy(stream)); }, to, value,
                                     count, stream);
}

AOTI_DBG_EXPORT CUresult cuMemsetD16Async_ptsz(CUdeviceptr to, unsigned short value, size_t count,
                                               CUstream stream) {
    return forward<cuMemsetD16Async_ptsz>([=] { return fills(to, 2 * count).on(per_thread(stream)); }, to,
                                          value, count, stream);
}

AOTI_DBG_EXPORT CUresult cuMemsetD2D16Async(CUdeviceptr to, size_t pitch, unsigned short value, size_t width,
                                            size_t height, CUstream stream) {
    return forward<cuMemsetD2D16Async>([=] { return fills(to, 2 * width, height, pitch).on(legacy(stream)); },
                                       to, pitch, value, width, height, stream);
}

AOTI_DBG_EXPORT CUresult cuMemsetD2D16Async_ptsz(CUdeviceptr to, size_t pitch, unsigned short value,
                                                 size_t width, size_t height, CUstream stream) {
    return forward<cuMemsetD2D16Async_ptsz>(
        [=] { return fills(to, 2 * width, height, pitch).on(per_thread(stream)); }, to, pitch, value, width,
        height, stream);
}

// ---- units of 32 bits ----

AOTI_DBG_EXPORT CUresult cuMemsetD32_v2(CUdeviceptr to, unsigned int value, size_t count) {
    return forward<cuMemsetD32_v2>([=] { return fills(to, 4 * count).among_all_on(legacy()); }, to, value,
                                   count);
}

AOTI_DBG_EXPORT CUresult cuMemsetD32_v2_ptds(CUdeviceptr to, unsigned int value, size_t count) {
    return forward<cuMemsetD32_v2_ptds>([=] { return fills(to, 4 * count).among_all_on(per_thread()); }, to,
                                        value, count);
}

AOTI_DBG_EXPORT CUresult cuMemsetD2D32_v2(CUdeviceptr to, size_t pitch, unsigned int value, size_t width,
                                          size_t height) {
    return forward<cuMemsetD2D32_v2>(
        [=] { return fills(to, 4 * width, height, pitch).among_all_on(legacy()); }, to, pitch, value, width,
        height);
}

AOTI_DBG_EXPORT CUresult cuMemsetD2D32_v2_ptds(CUdeviceptr to, size_t pitch, unsigned int value, size_t width,
                                               size_t height) {
    return forward<cuMemsetD2D32_v2_ptds>(
        [=] { return fills(to, 4 * width, height, pitch).among_all_on(per_thread()); }, to, pitch, value,
        width, height);
}

AOTI_DBG_EXPORT CUresult cuMemsetD32Async(CUdeviceptr to, unsigned int value, size_t count, CUstream stream) {
    return forward<cuMemsetD32Async>([=] { return fills(to, 4 * count).on(legacy(stream)); }, to, value,
                                     count, stream);
}

AOTI_DBG_EXPORT CUresult cuMemsetD32Async_ptsz(CUdeviceptr to, unsigned int value, size_t count,
                                               CUstream stream) {
    return forward<cuMemsetD32Async_ptsz>([=] { return fills(to, 4 * count).on(per_thread(stream)); }, to,
                                          value, count, stream);
}

AOTI_DBG_EXPORT CUresult cuMemsetD2D32Async(CUdeviceptr to, size_t pitch, unsigned int value, size_t width,
                                            size_t height, CUstream stream) {
    return forward<cuMemsetD2D32Async>([=] { return fills(to, 4 * width, height, pitch).on(legacy(stream)); },
                                       to, pitch, value, width, height, stream);
}

AOTI_DBG_EXPORT CUresult cuMemsetD2D32Async_ptsz(CUdeviceptr to, size_t pitch, unsigned int value,
                                                 size_t width, size_t height, CUstream stream) {
    return forward<cuMemsetD2D32Async_ptsz>(
        [=] { return fills(to, 4 * width, height, pitch).on(per_thread(stream)); }, to, pitch, value, width,
        height, stream);
}
