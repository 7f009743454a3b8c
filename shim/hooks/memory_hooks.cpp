// The hooks of calls that allocate device-accessible memory, and of calls that free such host memory. Each
// calls the real function with the same arguments. The result goes into the map of allocations if that is
// enabled (AOTI_DBG_TRIAGE). Calls that free device memory are in flush_hooks.cpp.
#include "shim/hooks/hook_support.hpp"  // first, because it configures cuda.h

#include "shim/faults/allocations.hpp"
#include "shim/faults/completion_markers.hpp"
#include "shim/runtime/driver_api.hpp"

using aoti_dbg::AskedMemory;
using aoti_dbg::kNoDriver;
using aoti_dbg::LeavingMemory;
using aoti_dbg::legacy_default;
using aoti_dbg::made_memory;
using aoti_dbg::note_unrecorded_result;
using aoti_dbg::per_thread_default;
using aoti_dbg::allocations::Way;

namespace {

CUresult made(CUresult result, const AskedMemory& asked, const CUdeviceptr* address) {
    note_unrecorded_result(result);
    made_memory(result, asked, address);
    return result;
}

CUresult made(CUresult result, const AskedMemory& asked, void* const* memory) {
    const auto address = memory == nullptr || result != CUDA_SUCCESS
                             ? std::uintptr_t{0}
                             : reinterpret_cast<std::uintptr_t>(*memory);
    note_unrecorded_result(result);
    made_memory(result, asked, memory == nullptr ? nullptr : &address);
    return result;
}

}  // namespace

#define AOTI_DBG_MAKES_MEMORY(name, way, bytes, stream, address, parameters, arguments) \
    AOTI_DBG_EXPORT CUresult name parameters {                                          \
        auto* real = AOTI_DBG_REAL(name);                                               \
        if (real == nullptr) return kNoDriver;                                          \
        return made(real arguments, AskedMemory{Way::way, bytes, stream}, address);     \
    }

#define AOTI_DBG_TAKES_MEMORY(name, way)                                           \
    AOTI_DBG_EXPORT CUresult name(void* memory) {                                  \
        auto* real = AOTI_DBG_REAL(name);                                          \
        if (real == nullptr) return kNoDriver;                                     \
        LeavingMemory leaving(Way::way, reinterpret_cast<std::uintptr_t>(memory)); \
        return leaving.end(real(memory));                                          \
    }

// ---- device memory ----

AOTI_DBG_MAKES_MEMORY(cuMemAlloc_v2, alloc, bytes, nullptr, address, (CUdeviceptr * address, size_t bytes),
                      (address, bytes))
AOTI_DBG_MAKES_MEMORY(cuMemAllocManaged, alloc_managed, bytes, nullptr, address,
                      (CUdeviceptr * address, size_t bytes, unsigned int flags), (address, bytes, flags))

AOTI_DBG_EXPORT CUresult cuMemAllocPitch_v2(CUdeviceptr* address, size_t* pitch, size_t width, size_t height,
                                            unsigned int element) {
    auto* real = AOTI_DBG_REAL(cuMemAllocPitch_v2);
    if (real == nullptr) return kNoDriver;
    const CUresult result = real(address, pitch, width, height, element);
    const size_t row = result == CUDA_SUCCESS && pitch != nullptr ? *pitch : width;
    return made(result, AskedMemory{Way::alloc_pitch, row * height}, address);
}

#define AOTI_DBG_MAKES_IN_ORDER(suffix, flavour)                                                             \
    AOTI_DBG_MAKES_MEMORY(cuMemAllocAsync##suffix, alloc_async, bytes, flavour(stream), address,             \
                          (CUdeviceptr * address, size_t bytes, CUstream stream), (address, bytes, stream))  \
    AOTI_DBG_MAKES_MEMORY(cuMemAllocFromPoolAsync##suffix, alloc_from_pool, bytes, flavour(stream), address, \
                          (CUdeviceptr * address, size_t bytes, CUmemoryPool pool, CUstream stream),         \
                          (address, bytes, pool, stream))
AOTI_DBG_MAKES_IN_ORDER(, legacy_default)
AOTI_DBG_MAKES_IN_ORDER(_ptsz, per_thread_default)

// The memory has no address until it is mapped.
AOTI_DBG_EXPORT CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, size_t bytes,
                                     const CUmemAllocationProp* wanted, unsigned long long flags) {
    auto* real = AOTI_DBG_REAL(cuMemCreate);
    if (real == nullptr) return kNoDriver;
    const bool names_device = wanted != nullptr && wanted->location.type == CU_MEM_LOCATION_TYPE_DEVICE;
    const AskedMemory asked{Way::create, bytes, nullptr,
                            names_device ? wanted->location.id : aoti_dbg::allocations::kNoDevice};
    return made(real(handle, bytes, wanted, flags), asked, handle);
}

AOTI_DBG_EXPORT CUresult cuMemMap(CUdeviceptr address, size_t bytes, size_t offset,
                                  CUmemGenericAllocationHandle handle, unsigned long long flags) {
    auto* real = AOTI_DBG_REAL(cuMemMap);
    if (real == nullptr) return kNoDriver;
    return made(real(address, bytes, offset, handle, flags), AskedMemory{Way::map, bytes}, &address);
}

AOTI_DBG_EXPORT CUresult cuIpcOpenMemHandle_v2(CUdeviceptr* address, CUipcMemHandle handle,
                                               unsigned int flags) {
    auto* real = AOTI_DBG_REAL(cuIpcOpenMemHandle_v2);
    if (real == nullptr) return kNoDriver;
    const CUresult result = real(address, handle, flags);
    if (!aoti_dbg::g_recording_memory || result != CUDA_SUCCESS || address == nullptr) return result;
    return made(result, AskedMemory{Way::open_ipc, aoti_dbg::allocation_bytes(*address)}, address);
}

// ---- host memory ----

AOTI_DBG_MAKES_MEMORY(cuMemAllocHost_v2, alloc_host, bytes, nullptr, memory, (void** memory, size_t bytes),
                      (memory, bytes))
AOTI_DBG_MAKES_MEMORY(cuMemHostAlloc, alloc_host, bytes, nullptr, memory,
                      (void** memory, size_t bytes, unsigned int flags), (memory, bytes, flags))
AOTI_DBG_MAKES_MEMORY(cuMemHostRegister_v2, register_host, bytes, nullptr, &memory,
                      (void* memory, size_t bytes, unsigned int flags), (memory, bytes, flags))
AOTI_DBG_TAKES_MEMORY(cuMemFreeHost, free_host)
AOTI_DBG_TAKES_MEMORY(cuMemHostUnregister, unregister_host)
