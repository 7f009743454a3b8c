// The hooks of calls that allocate or free memory which the device can access.
#include "shim/hooks/forward.hpp"  // first, because it configures cuda.h

using namespace aoti_dbg;

namespace {

using allocations::Way;

DriverEvent allocates(Way way, size_t bytes, const void* address, CUstream stream = nullptr) {
    return {.kind = DriverKind::allocate,
            .stream = stream,
            .way = way,
            .allocated = {.address = address, .bytes = bytes}};
}

DriverEvent allocates_rows(size_t width, size_t height, const size_t* pitch, const CUdeviceptr* address) {
    DriverEvent event = allocates(Way::alloc_pitch, width * height, address);
    event.allocated.pitch = pitch;
    event.allocated.rows = height;
    return event;
}

/// The memory has no address until it is mapped.
DriverEvent creates(size_t bytes, const CUmemAllocationProp* requested, const void* handle) {
    const bool names_device = requested != nullptr && requested->location.type == CU_MEM_LOCATION_TYPE_DEVICE;
    DriverEvent event = allocates(Way::create, bytes, handle);
    event.allocated.device = names_device ? requested->location.id : allocations::kNoDevice;
    return event;
}

DriverEvent frees(Way way, CUdeviceptr address, size_t bytes = 0) {
    return {.kind = DriverKind::free, .concerns_all = true, .way = way, .freed = {address, bytes}};
}

DriverEvent frees_in_order(CUdeviceptr address, CUstream stream) {
    return {.kind = DriverKind::free, .stream = stream, .way = Way::free_async, .freed = {address}};
}

DriverEvent frees_host(Way way, const void* memory) {
    return {.kind = DriverKind::free_host, .way = way, .freed = {reinterpret_cast<std::uintptr_t>(memory)}};
}

DriverEvent trims_pool() {
    return {.kind = DriverKind::trim_pool, .concerns_all = true};
}

}  // namespace

// ---- allocated memory ----

AOTI_DBG_EXPORT CUresult cuMemAlloc_v2(CUdeviceptr* address, size_t bytes) {
    return forward<cuMemAlloc_v2>([=] { return allocates(Way::alloc, bytes, address); }, address, bytes);
}

AOTI_DBG_EXPORT CUresult cuMemAllocPitch_v2(CUdeviceptr* address, size_t* pitch, size_t width, size_t height,
                                            unsigned int element) {
    return forward<cuMemAllocPitch_v2>([=] { return allocates_rows(width, height, pitch, address); }, address,
                                       pitch, width, height, element);
}

AOTI_DBG_EXPORT CUresult cuMemAllocManaged(CUdeviceptr* address, size_t bytes, unsigned int flags) {
    return forward<cuMemAllocManaged>([=] { return allocates(Way::alloc_managed, bytes, address); }, address,
                                      bytes, flags);
}

AOTI_DBG_EXPORT CUresult cuMemAllocAsync(CUdeviceptr* address, size_t bytes, CUstream stream) {
    return forward<cuMemAllocAsync>(
        [=] { return allocates(Way::alloc_async, bytes, address, legacy(stream)); }, address, bytes, stream);
}

AOTI_DBG_EXPORT CUresult cuMemAllocAsync_ptsz(CUdeviceptr* address, size_t bytes, CUstream stream) {
    return forward<cuMemAllocAsync_ptsz>(
        [=] { return allocates(Way::alloc_async, bytes, address, per_thread(stream)); }, address, bytes,
        stream);
}

AOTI_DBG_EXPORT CUresult cuMemAllocFromPoolAsync(CUdeviceptr* address, size_t bytes, CUmemoryPool pool,
                                                 CUstream stream) {
    return forward<cuMemAllocFromPoolAsync>(
        [=] { return allocates(Way::alloc_from_pool, bytes, address, legacy(stream)); }, address, bytes, pool,
        stream);
}

AOTI_DBG_EXPORT CUresult cuMemAllocFromPoolAsync_ptsz(CUdeviceptr* address, size_t bytes, CUmemoryPool pool,
                                                      CUstream stream) {
    return forward<cuMemAllocFromPoolAsync_ptsz>(
        [=] { return allocates(Way::alloc_from_pool, bytes, address, per_thread(stream)); }, address, bytes,
        pool, stream);
}

AOTI_DBG_EXPORT CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, size_t bytes,
                                     const CUmemAllocationProp* requested, unsigned long long flags) {
    return forward<cuMemCreate>([=] { return creates(bytes, requested, handle); }, handle, bytes, requested,
                                flags);
}

AOTI_DBG_EXPORT CUresult cuMemMap(CUdeviceptr address, size_t bytes, size_t offset,
                                  CUmemGenericAllocationHandle handle, unsigned long long flags) {
    return forward<cuMemMap>([&] { return allocates(Way::map, bytes, &address); }, address, bytes, offset,
                             handle, flags);
}

AOTI_DBG_EXPORT CUresult cuMemAllocHost_v2(void** memory, size_t bytes) {
    return forward<cuMemAllocHost_v2>([=] { return allocates(Way::alloc_host, bytes, memory); }, memory,
                                      bytes);
}

AOTI_DBG_EXPORT CUresult cuMemHostAlloc(void** memory, size_t bytes, unsigned int flags) {
    return forward<cuMemHostAlloc>([=] { return allocates(Way::alloc_host, bytes, memory); }, memory, bytes,
                                   flags);
}

AOTI_DBG_EXPORT CUresult cuMemFreeHost(void* memory) {
    return forward<cuMemFreeHost>([=] { return frees_host(Way::free_host, memory); }, memory);
}

AOTI_DBG_EXPORT CUresult cuMemHostRegister_v2(void* memory, size_t bytes, unsigned int flags) {
    return forward<cuMemHostRegister_v2>([&] { return allocates(Way::register_host, bytes, &memory); },
                                         memory, bytes, flags);
}

AOTI_DBG_EXPORT CUresult cuMemHostUnregister(void* memory) {
    return forward<cuMemHostUnregister>([=] { return frees_host(Way::unregister_host, memory); }, memory);
}

AOTI_DBG_EXPORT CUresult cuIpcOpenMemHandle_v2(CUdeviceptr* address, CUipcMemHandle handle,
                                               unsigned int flags) {
    return forward<cuIpcOpenMemHandle_v2>([=] { return allocates(Way::open_ipc, 0, address); }, address,
                                          handle, flags);
}

// ---- freed memory ----

// cuMemFree waits for the whole device.
AOTI_DBG_EXPORT CUresult cuMemFree_v2(CUdeviceptr address) {
    return forward<cuMemFree_v2>([=] { return frees(Way::free, address).awaiting(of_memory()); }, address);
}

AOTI_DBG_EXPORT CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream) {
    return forward<cuMemFreeAsync>([=] { return frees_in_order(address, legacy(stream)); }, address, stream);
}

AOTI_DBG_EXPORT CUresult cuMemFreeAsync_ptsz(CUdeviceptr address, CUstream stream) {
    return forward<cuMemFreeAsync_ptsz>([=] { return frees_in_order(address, per_thread(stream)); }, address,
                                        stream);
}

AOTI_DBG_EXPORT CUresult cuMemUnmap(CUdeviceptr address, size_t bytes) {
    return forward<cuMemUnmap>([=] { return frees(Way::unmap, address, bytes); }, address, bytes);
}

AOTI_DBG_EXPORT CUresult cuMemPoolDestroy(CUmemoryPool pool) {
    return forward<cuMemPoolDestroy>([=] { return trims_pool(); }, pool);
}

AOTI_DBG_EXPORT CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t bytes) {
    return forward<cuMemPoolTrimTo>([=] { return trims_pool(); }, pool, bytes);
}

AOTI_DBG_EXPORT CUresult cuIpcCloseMemHandle(CUdeviceptr address) {
    return forward<cuIpcCloseMemHandle>([=] { return frees(Way::close_ipc, address); }, address);
}
