// Copies, sets and stream waits of the driver victims. They print the memory after each, which shows whether
// an interposer mixes up the arguments.
#pragma once

#include <initializer_list>
#include <numeric>

#include "tests/victims/driver_user.hpp"

namespace victim {

constexpr std::size_t kWords = 16;

/// Device memory, printed after each step.
class Words {
  public:
    explicit Words(const Driver& driver) : driver_(driver) {
        must(driver_.cuMemAlloc(&to, sizeof(values_)), "cuMemAlloc");
        must(driver_.cuMemAlloc(&from, sizeof(values_)), "cuMemAlloc");
        std::iota(values_, values_ + kWords, 1U);
        must(driver_.cuMemcpyHtoD(from, values_, sizeof(values_)), "cuMemcpyHtoD");
        must(driver_.cuMemsetD32(to, 0, kWords), "cuMemsetD32");
    }
    Words(const Words&) = delete;
    Words& operator=(const Words&) = delete;

    /// Waits for the device, prints `to` and zeroes it.
    void show() {
        must(driver_.cuCtxSynchronize(), "cuCtxSynchronize");
        must(driver_.cuMemcpyDtoH(values_, to, sizeof(values_)), "cuMemcpyDtoH");
        for (const unsigned int value : values_)
            std::printf(" %x", value);
        std::printf("\n");
        must(driver_.cuMemsetD32(to, 0, kWords), "cuMemsetD32");
        must(driver_.cuCtxSynchronize(), "cuCtxSynchronize");
    }

    CUdeviceptr to = 0;
    CUdeviceptr from = 0;
    unsigned int host[kWords] = {21, 22, 23, 24, 25, 26, 27, 28};

  private:
    const Driver& driver_;
    unsigned int values_[kWords];
};

inline void say_sets(const Driver& driver, Words& words, CUstream stream) {
    const CUdeviceptr to = words.to;
    say("cuMemsetD8", driver.cuMemsetD8, to + 1, static_cast<unsigned char>(0xab), std::size_t{5});
    words.show();
    say("cuMemsetD16", driver.cuMemsetD16, to + 2, static_cast<unsigned short>(0xabcd), std::size_t{5});
    words.show();
    say("cuMemsetD32", driver.cuMemsetD32, to + 4, 0xabcdefU, std::size_t{5});
    words.show();
    say("cuMemsetD2D8", driver.cuMemsetD2D8, to, std::size_t{8}, static_cast<unsigned char>(0x12),
        std::size_t{3}, std::size_t{2});
    words.show();
    say("cuMemsetD2D16", driver.cuMemsetD2D16, to, std::size_t{16}, static_cast<unsigned short>(0x1234),
        std::size_t{3}, std::size_t{2});
    words.show();
    say("cuMemsetD2D32", driver.cuMemsetD2D32, to, std::size_t{24}, 0x123456U, std::size_t{3},
        std::size_t{2});
    words.show();
    say("cuMemsetD8Async", driver.cuMemsetD8Async, to + 1, static_cast<unsigned char>(0xcd), std::size_t{5},
        stream);
    words.show();
    say("cuMemsetD16Async", driver.cuMemsetD16Async, to + 2, static_cast<unsigned short>(0xcdef),
        std::size_t{5}, stream);
    words.show();
    say("cuMemsetD32Async", driver.cuMemsetD32Async, to + 4, 0xcdefU, std::size_t{5}, stream);
    words.show();
    say("cuMemsetD2D8Async", driver.cuMemsetD2D8Async, to, std::size_t{8}, static_cast<unsigned char>(0x34),
        std::size_t{3}, std::size_t{2}, stream);
    words.show();
    say("cuMemsetD2D16Async", driver.cuMemsetD2D16Async, to, std::size_t{16},
        static_cast<unsigned short>(0x3456), std::size_t{3}, std::size_t{2}, stream);
    words.show();
    say("cuMemsetD2D32Async", driver.cuMemsetD2D32Async, to, std::size_t{24}, 0x345678U, std::size_t{3},
        std::size_t{2}, stream);
    words.show();
    say("a set of nothing known", driver.cuMemsetD8, CUdeviceptr{16}, static_cast<unsigned char>(1),
        std::size_t{1});
}

inline void say_row_copies(const Driver& driver, Words& words, CUcontext context, CUstream stream) {
    CUDA_MEMCPY2D rows = {};
    rows.srcMemoryType = rows.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    rows.srcDevice = words.from;
    rows.dstDevice = words.to;
    rows.srcPitch = 16;
    rows.dstPitch = 12;
    rows.WidthInBytes = 8;
    rows.Height = 3;
    const CUDA_MEMCPY2D* const two = &rows;
    say("cuMemcpy2D", driver.cuMemcpy2D, two);
    words.show();
    say("cuMemcpy2DUnaligned", driver.cuMemcpy2DUnaligned, two);
    words.show();
    rows.srcMemoryType = CU_MEMORYTYPE_HOST;
    rows.srcHost = words.host;
    say("cuMemcpy2DAsync", driver.cuMemcpy2DAsync, two, stream);
    words.show();

    CUDA_MEMCPY3D box = {};
    box.srcMemoryType = box.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    box.srcDevice = words.from;
    box.dstDevice = words.to;
    box.srcPitch = 8;
    box.srcHeight = 3;
    box.dstPitch = 4;
    box.dstHeight = 4;
    box.WidthInBytes = 4;
    box.Height = box.Depth = 2;
    const CUDA_MEMCPY3D* const three = &box;
    say("cuMemcpy3D", driver.cuMemcpy3D, three);
    words.show();
    say("cuMemcpy3DAsync", driver.cuMemcpy3DAsync, three, stream);
    words.show();

    CUDA_MEMCPY3D_PEER peer = {};
    peer.srcMemoryType = peer.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    peer.srcContext = peer.dstContext = context;
    peer.srcDevice = words.from;
    peer.dstDevice = words.to;
    peer.WidthInBytes = 12;
    peer.Height = peer.Depth = 1;
    const CUDA_MEMCPY3D_PEER* const between = &peer;
    say("cuMemcpy3DPeer", driver.cuMemcpy3DPeer, between);
    words.show();
    say("cuMemcpy3DPeerAsync", driver.cuMemcpy3DPeerAsync, between, stream);
    words.show();
}

inline void say_copies(const Driver& driver, CUcontext context, CUstream stream) {
    Words words(driver);
    const CUdeviceptr to = words.to;
    const CUdeviceptr from = words.from;
    const void* const host = words.host;
    say("cuMemcpy", driver.cuMemcpy, to + 4, from, std::size_t{8});
    words.show();
    say("cuMemcpyHtoD", driver.cuMemcpyHtoD, to + 8, host, std::size_t{12});
    words.show();
    say("cuMemcpyDtoD", driver.cuMemcpyDtoD, to + 12, from + 4, std::size_t{16});
    words.show();
    say("cuMemcpyPeer", driver.cuMemcpyPeer, to + 4, context, from + 8, context, std::size_t{20});
    words.show();
    say("cuMemcpyAsync", driver.cuMemcpyAsync, to, from + 4, std::size_t{8}, stream);
    words.show();
    say("cuMemcpyHtoDAsync", driver.cuMemcpyHtoDAsync, to + 8, host, std::size_t{12}, stream);
    words.show();
    say("cuMemcpyDtoDAsync", driver.cuMemcpyDtoDAsync, to + 12, from + 4, std::size_t{16}, stream);
    words.show();
    say("cuMemcpyPeerAsync", driver.cuMemcpyPeerAsync, to + 4, context, from + 8, context, std::size_t{20},
        stream);
    words.show();
    unsigned int back[2] = {};
    say("cuMemcpyDtoHAsync", driver.cuMemcpyDtoHAsync, static_cast<void*>(back), from + 8, sizeof(back),
        stream);
    must(driver.cuStreamSynchronize(stream), "cuStreamSynchronize");
    std::printf(" %u %u\n", back[0], back[1]);

    CUDA_ARRAY_DESCRIPTOR description = {};
    description.Width = 8;
    description.Format = CU_AD_FORMAT_UNSIGNED_INT32;
    description.NumChannels = 1;
    CUarray array = nullptr;
    must(driver.cuArrayCreate(&array, &description), "cuArrayCreate");
    say("cuMemcpyDtoA", driver.cuMemcpyDtoA, array, std::size_t{4}, from + 8, std::size_t{12});
    say("cuMemcpyAtoD", driver.cuMemcpyAtoD, to + 4, array, std::size_t{8}, std::size_t{8});
    words.show();
    must(driver.cuArrayDestroy(array), "cuArrayDestroy");

    say_row_copies(driver, words, context, stream);
    say_sets(driver, words, stream);
    for (CUdeviceptr memory : {to, from})
        say("cuMemFree", driver.cuMemFree, memory);
    say("a copy into what was freed", driver.cuMemcpyHtoD, to, host, std::size_t{4});
}

inline void say_waits(const Driver& driver, CUstream stream) {
    CUdeviceptr word = 0;
    CUstream other = nullptr;
    CUevent event = nullptr;
    must(driver.cuMemAlloc(&word, 16), "cuMemAlloc");
    must(driver.cuMemsetD32(word, 0, 4), "cuMemsetD32");
    must(driver.cuStreamCreate(&other, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
    must(driver.cuEventCreate(&event, CU_EVENT_DEFAULT), "cuEventCreate");
    must(driver.cuCtxSynchronize(), "cuCtxSynchronize");
    say("wait for a value of 32 bits", driver.cuStreamWaitValue32, other, word, cuuint32_t{7},
        static_cast<unsigned int>(CU_STREAM_WAIT_VALUE_EQ));
    say("write it", driver.cuStreamWriteValue32, stream, word, cuuint32_t{7}, 0U);
    say("wait for a value of 64 bits", driver.cuStreamWaitValue64, other, word + 8, cuuint64_t{9} << 32U,
        static_cast<unsigned int>(CU_STREAM_WAIT_VALUE_GEQ));
    say("write it", driver.cuStreamWriteValue64, stream, word + 8, cuuint64_t{10} << 32U, 0U);
    say("record", driver.cuEventRecord, event, other);
    say("record with flags", driver.cuEventRecordWithFlags, event, other, 0U);
    say("wait for the event", driver.cuStreamWaitEvent, stream, event, 0U);
    int calls = 0;
    say("a function of the host", driver.cuLaunchHostFunc, stream,
        static_cast<CUhostFn>([](void* data) { ++*static_cast<int*>(data); }), static_cast<void*>(&calls));
    say("a callback", driver.cuStreamAddCallback, stream,
        static_cast<CUstreamCallback>([](CUstream, CUresult, void* data) { *static_cast<int*>(data) += 10; }),
        static_cast<void*>(&calls), 0U);
    say("synchronize with the stream", driver.cuStreamSynchronize, stream);
    say("query it", driver.cuStreamQuery, stream);
    say("synchronize with the event", driver.cuEventSynchronize, event);
    std::printf("called: %d\n", calls);
    must(driver.cuEventDestroy(event), "cuEventDestroy");
    say("the stream goes", driver.cuStreamDestroy, other);
    say("query what went", driver.cuStreamQuery, other);
    must(driver.cuMemFree(word), "cuMemFree");
}

/// Memory from a pool, and memory mapped by hand.
inline void say_mappings(const Driver& driver, CUstream stream) {
    CUmemoryPool pool = nullptr;
    CUmemPoolProps properties = {};
    properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    CUdeviceptr memory = 0;
    must(driver.cuMemPoolCreate(&pool, &properties), "cuMemPoolCreate");
    say("memory of a pool", driver.cuMemAllocFromPoolAsync, &memory, std::size_t{512}, pool, stream);
    say("back to it", driver.cuMemFreeAsync, memory, stream);
    say("back again", driver.cuMemFreeAsync, CUdeviceptr{16}, stream);
    must(driver.cuStreamSynchronize(stream), "cuStreamSynchronize");
    say("trim", driver.cuMemPoolTrimTo, pool, std::size_t{0});
    say("the pool goes", driver.cuMemPoolDestroy, pool);
    say("trim what went", driver.cuMemPoolTrimTo, pool, std::size_t{0});

    constexpr std::size_t kBytes = std::size_t{2} << 20U;
    CUmemAllocationProp kind = {};
    kind.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    kind.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    CUmemGenericAllocationHandle handle = 0;
    CUmemAccessDesc access = {};
    access.location = kind.location;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    must(driver.cuMemAddressReserve(&memory, kBytes, 0, 0, 0), "cuMemAddressReserve");
    must(driver.cuMemCreate(&handle, kBytes, &kind, 0), "cuMemCreate");
    must(driver.cuMemMap(memory, kBytes, 0, handle, 0), "cuMemMap");
    must(driver.cuMemSetAccess(memory, kBytes, &access, 1), "cuMemSetAccess");
    unsigned int value = 5;
    say("a copy into the mapping", driver.cuMemcpyHtoD, memory, static_cast<const void*>(&value),
        sizeof(value));
    say("unmap", driver.cuMemUnmap, memory, kBytes);
    say("a copy into what was unmapped", driver.cuMemcpyHtoD, memory, static_cast<const void*>(&value),
        sizeof(value));
    must(driver.cuMemRelease(handle), "cuMemRelease");
    must(driver.cuMemAddressFree(memory, kBytes), "cuMemAddressFree");
}

inline void say_memory(const Driver& driver, CUcontext context) {
    CUstream stream = nullptr;
    must(driver.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
    say_copies(driver, context, stream);
    say_waits(driver, stream);
    say_mappings(driver, stream);
    must(driver.cuStreamDestroy(stream), "cuStreamDestroy");
}

}  // namespace victim
