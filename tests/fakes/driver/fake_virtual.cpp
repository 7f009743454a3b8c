// Virtual memory mappings, memory pools and pointer queries. A memory handle is only its size: a mapping's
// contents are lost when it is unmapped.
#include <sys/mman.h>

#include "tests/fakes/driver/fake_driver.hpp"

namespace fake_cuda {
namespace {

/// The real driver's is 2 MiB.
constexpr std::size_t kGranularity = std::size_t{64} << 10U;

struct MemoryPool {
    std::atomic<bool> alive{false};
};

Pool<MemoryPool, 64>& memory_pools() {
    static auto* instance = new Pool<MemoryPool, 64>;
    return *instance;
}

CUmemoryPool make_pool() {
    MemoryPool* pool = memory_pools().take();
    if (pool != nullptr) pool->alive.store(true, std::memory_order_release);
    return reinterpret_cast<CUmemoryPool>(pool);
}

CUresult enter_unsafe(Context*& context) {
    if (CUresult result = enter(context); result != CUDA_SUCCESS) return result;
    return unsafe_during_capture();
}

void* at(CUdeviceptr address) {
    return reinterpret_cast<void*>(address);
}

}  // namespace

bool is_pool(CUmemoryPool pool) {
    return memory_pools().check(pool) != nullptr;
}

}  // namespace fake_cuda

using namespace fake_cuda;

FAKE_API CUresult cuMemGetAllocationGranularity(std::size_t* bytes, const CUmemAllocationProp* properties,
                                                CUmemAllocationGranularity_flags) {
    if (CUresult result = enter(); result != CUDA_SUCCESS) return result;
    if (bytes == nullptr || properties == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *bytes = kGranularity;
    return CUDA_SUCCESS;
}

FAKE_API CUresult cuMemAddressReserve(CUdeviceptr* out, std::size_t bytes, std::size_t, CUdeviceptr requested,
                                      unsigned long long flags) {
    if (CUresult result = enter(); result != CUDA_SUCCESS) return result;
    if (out == nullptr || bytes == 0 || flags != 0) return CUDA_ERROR_INVALID_VALUE;
    void* place = mmap(at(requested), bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (place == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
    *out = reinterpret_cast<CUdeviceptr>(place);
    return CUDA_SUCCESS;
}

FAKE_API CUresult cuMemAddressFree(CUdeviceptr address, std::size_t bytes) {
    if (CUresult result = enter(); result != CUDA_SUCCESS) return result;
    return munmap(at(address), bytes) == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

FAKE_API CUresult cuMemCreate(CUmemGenericAllocationHandle* out, std::size_t bytes,
                              const CUmemAllocationProp*, unsigned long long) {
    if (CUresult result = enter(); result != CUDA_SUCCESS) return result;
    if (out == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
    if (!charge(bytes)) return CUDA_ERROR_OUT_OF_MEMORY;
    *out = bytes;
    return CUDA_SUCCESS;
}

FAKE_API CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
    if (CUresult result = enter(); result != CUDA_SUCCESS) return result;
    if (handle == 0) return CUDA_ERROR_INVALID_VALUE;
    credit(handle);
    return CUDA_SUCCESS;
}

FAKE_API CUresult cuMemMap(CUdeviceptr address, std::size_t bytes, std::size_t offset,
                           CUmemGenericAllocationHandle handle, unsigned long long) {
    Context* context = nullptr;
    if (CUresult result = enter(context); result != CUDA_SUCCESS) return result;
    if (offset > handle || bytes > handle - offset) return CUDA_ERROR_INVALID_VALUE;
    if (mprotect(at(address), bytes, PROT_READ | PROT_WRITE) != 0) return CUDA_ERROR_INVALID_VALUE;
    return make_known(address, bytes, Kind::mapped, context) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

FAKE_API CUresult cuMemSetAccess(CUdeviceptr address, std::size_t bytes, const CUmemAccessDesc*,
                                 std::size_t) {
    if (CUresult result = enter(); result != CUDA_SUCCESS) return result;
    return is_known(address, bytes) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

FAKE_API CUresult cuMemUnmap(CUdeviceptr address, std::size_t bytes) {
    Context* context = nullptr;
    if (CUresult result = enter_unsafe(context); result != CUDA_SUCCESS) return result;
    synchronize_context(context);
    if (CUresult result = release(address, Kind::mapped); result != CUDA_SUCCESS) return result;
    // Fresh pages: a new mapping at this address must not see the old contents.
    void* place = mmap(at(address), bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    return place == MAP_FAILED ? CUDA_ERROR_UNKNOWN : CUDA_SUCCESS;
}

FAKE_API CUresult cuMemPoolCreate(CUmemoryPool* out, const CUmemPoolProps* properties) {
    if (CUresult result = enter(); result != CUDA_SUCCESS) return result;
    if (out == nullptr || properties == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *out = make_pool();
    return *out == nullptr ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

FAKE_API CUresult cuDeviceGetDefaultMemPool(CUmemoryPool* out, CUdevice device) {
    if (CUresult result = enter(); result != CUDA_SUCCESS) return result;
    if (out == nullptr || device < 0 || device >= device_count()) return CUDA_ERROR_INVALID_VALUE;
    static auto* const pool = make_pool();
    *out = pool;
    return CUDA_SUCCESS;
}

FAKE_API CUresult cuMemPoolTrimTo(CUmemoryPool pool, std::size_t) {
    if (CUresult result = enter(); result != CUDA_SUCCESS) return result;
    return is_pool(pool) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

FAKE_API CUresult cuMemPoolDestroy(CUmemoryPool handle) {
    if (CUresult result = enter(); result != CUDA_SUCCESS) return result;
    MemoryPool* pool = memory_pools().check(handle);
    if (pool == nullptr) return CUDA_ERROR_INVALID_VALUE;
    memory_pools().give_back(pool);
    return CUDA_SUCCESS;
}
