// Memory, all of it on the host. Only allocated or registered addresses are valid.
#include <cstdlib>
#include <map>

#include "tests/fakes/driver/fake_driver.hpp"

namespace fake_cuda {
namespace {

// The real driver's alignment. Models check for 16 bytes.
constexpr std::size_t kAlignment = 512;

std::size_t total_bytes() {
    static const std::size_t total = [] {
        const char* text = std::getenv("FAKE_CUDA_MEMORY");
        return text == nullptr ? std::size_t{8} << 30U : std::strtoull(text, nullptr, 10);
    }();
    return total;
}

struct Range {
    std::size_t bytes;
    Kind kind;
    Context* context;
};

struct Ranges {
    std::mutex mutex;
    std::map<std::uintptr_t, Range> all;
    std::size_t allocated = 0;
};

Ranges& ranges() {
    static auto* instance = new Ranges;
    return *instance;
}

/// Requires the mutex. Returns the range that contains [address, address + bytes).
std::map<std::uintptr_t, Range>::iterator find_range(std::uintptr_t address, std::size_t bytes) {
    auto& all = ranges().all;
    auto at = all.upper_bound(address);
    if (at == all.begin()) return all.end();
    --at;
    const bool inside =
        address - at->first <= at->second.bytes && bytes <= at->second.bytes - (address - at->first);
    return inside ? at : all.end();
}

bool is_of_device(Kind kind) {
    return kind == Kind::device || kind == Kind::mapped;
}

bool is_owned(Kind kind) {
    return kind == Kind::device || kind == Kind::host;
}

std::size_t rounded(std::size_t bytes) {
    return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

/// Requires the mutex.
void give_back(std::uintptr_t address, std::size_t bytes) {
    ranges().allocated -= rounded(bytes);
    std::free(reinterpret_cast<void*>(address));
}

CUresult enter_unsafe(Context*& context) {
    if (CUresult result = enter(context); result != CUDA_SUCCESS) return result;
    return unsafe_during_capture();
}

CUresult free_async(CUdeviceptr address, CUstream stream, bool per_thread) {
    if (!is_known(address, 0)) return CUDA_ERROR_INVALID_VALUE;
    return enqueue(stream, per_thread, false, [address] { (void)release(address, Kind::device); });
}

CUresult alloc_async(CUdeviceptr* out, std::size_t bytes, CUstream handle, bool per_thread) {
    Context* context = nullptr;
    if (CUresult result = enter(context); result != CUDA_SUCCESS) return result;
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    Stream* stream = nullptr;
    if (CUresult result = find_stream(handle, per_thread, context, stream); result != CUDA_SUCCESS)
        return result;
    if (stream->captures) return CUDA_ERROR_NOT_SUPPORTED;  // memory nodes of graphs are not supported
    std::uintptr_t address = 0;
    const CUresult result = allocate(address, bytes, Kind::device, context);
    if (result == CUDA_SUCCESS) *out = address;
    return result;
}

}  // namespace

std::shared_mutex& frees_mutex() {
    static auto* instance = new std::shared_mutex;
    return *instance;
}

bool is_known(std::uint64_t address, std::size_t bytes) {
    const std::lock_guard lock(ranges().mutex);
    return find_range(address, bytes) != ranges().all.end();
}

Context* context_of_memory(std::uint64_t address) {
    const std::lock_guard lock(ranges().mutex);
    const auto at = find_range(address, 1);
    if (at == ranges().all.end()) return nullptr;
    return is_of_device(at->second.kind) ? at->second.context : nullptr;
}

CUresult allocate(std::uintptr_t& address, std::size_t bytes, Kind kind, Context* context) {
    if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
    const std::size_t taken = rounded(bytes);
    const std::lock_guard lock(ranges().mutex);
    if (ranges().allocated + taken > total_bytes()) return CUDA_ERROR_OUT_OF_MEMORY;
    void* memory = std::aligned_alloc(kAlignment, taken);
    if (memory == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
    address = reinterpret_cast<std::uintptr_t>(memory);
    ranges().all[address] = {bytes, kind, context};
    ranges().allocated += taken;
    return CUDA_SUCCESS;
}

CUresult release(std::uintptr_t address, Kind kind) {
    const std::lock_guard no_reads(frees_mutex());
    const std::lock_guard lock(ranges().mutex);
    const auto at = ranges().all.find(address);
    if (at == ranges().all.end() || at->second.kind != kind) return CUDA_ERROR_INVALID_VALUE;
    if (is_owned(kind)) give_back(address, at->second.bytes);
    ranges().all.erase(at);
    return CUDA_SUCCESS;
}

bool charge(std::size_t bytes) {
    const std::lock_guard lock(ranges().mutex);
    if (bytes > total_bytes() - ranges().allocated) return false;
    ranges().allocated += bytes;
    return true;
}

void credit(std::size_t bytes) {
    const std::lock_guard lock(ranges().mutex);
    ranges().allocated -= bytes;
}

bool make_known(std::uintptr_t address, std::size_t bytes, Kind kind, Context* context) {
    const std::lock_guard lock(ranges().mutex);
    if (find_range(address, 1) != ranges().all.end()) return false;
    ranges().all[address] = {bytes, kind, context};
    return true;
}

void free_memory_of(Context* context) {
    const std::lock_guard no_reads(frees_mutex());
    const std::lock_guard lock(ranges().mutex);
    auto& all = ranges().all;
    for (auto range = all.begin(); range != all.end();) {
        if (range->second.context != context) {
            ++range;
            continue;
        }
        if (is_owned(range->second.kind)) give_back(range->first, range->second.bytes);
        range = all.erase(range);
    }
}

}  // namespace fake_cuda

using namespace fake_cuda;

FAKE_API CUresult cuMemAlloc_v2(CUdeviceptr* out, std::size_t bytes) {
    Context* context = nullptr;
    if (CUresult result = enter_unsafe(context); result != CUDA_SUCCESS) return result;
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    std::uintptr_t address = 0;
    const CUresult result = allocate(address, bytes, Kind::device, context);
    if (result == CUDA_SUCCESS) *out = address;
    return result;
}

FAKE_API CUresult cuMemAllocManaged(CUdeviceptr* out, std::size_t bytes, unsigned int flags) {
    if (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST) return CUDA_ERROR_INVALID_VALUE;
    return cuMemAlloc_v2(out, bytes);
}

FAKE_API CUresult cuMemAllocPitch_v2(CUdeviceptr* out, std::size_t* pitch, std::size_t width,
                                     std::size_t height, unsigned int) {
    if (pitch == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *pitch = rounded(width);
    return cuMemAlloc_v2(out, *pitch * height);
}

FAKE_API CUresult cuMemFree_v2(CUdeviceptr address) {
    Context* context = nullptr;
    if (CUresult result = enter_unsafe(context); result != CUDA_SUCCESS) return result;
    if (address == 0) return CUDA_SUCCESS;
    synchronize_context(context);
    return release(address, Kind::device);
}

FAKE_API CUresult cuMemGetInfo_v2(std::size_t* free_bytes, std::size_t* total) {
    Context* context = nullptr;
    if (CUresult result = enter(context); result != CUDA_SUCCESS) return result;
    if (free_bytes == nullptr || total == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const std::lock_guard lock(ranges().mutex);
    *free_bytes = total_bytes() - ranges().allocated;
    *total = total_bytes();
    return CUDA_SUCCESS;
}

FAKE_API CUresult cuMemGetAddressRange_v2(CUdeviceptr* base, std::size_t* bytes, CUdeviceptr address) {
    Context* context = nullptr;
    if (CUresult result = enter(context); result != CUDA_SUCCESS) return result;
    const std::lock_guard lock(ranges().mutex);
    const auto range = find_range(address, 0);
    if (range == ranges().all.end()) return CUDA_ERROR_NOT_FOUND;
    if (base != nullptr) *base = range->first;
    if (bytes != nullptr) *bytes = range->second.bytes;
    return CUDA_SUCCESS;
}

FAKE_API CUresult cuMemHostAlloc(void** out, std::size_t bytes, unsigned int) {
    Context* context = nullptr;
    if (CUresult result = enter_unsafe(context); result != CUDA_SUCCESS) return result;
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    std::uintptr_t address = 0;
    const CUresult result = allocate(address, bytes, Kind::host, context);
    if (result == CUDA_SUCCESS) *out = reinterpret_cast<void*>(address);
    return result;
}

FAKE_API CUresult cuMemFreeHost(void* memory) {
    Context* context = nullptr;
    if (CUresult result = enter_unsafe(context); result != CUDA_SUCCESS) return result;
    synchronize_context(context);
    return release(reinterpret_cast<std::uintptr_t>(memory), Kind::host);
}

FAKE_API CUresult cuMemHostRegister_v2(void* memory, std::size_t bytes, unsigned int) {
    Context* context = nullptr;
    if (CUresult result = enter_unsafe(context); result != CUDA_SUCCESS) return result;
    if (memory == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
    const auto address = reinterpret_cast<std::uintptr_t>(memory);
    return make_known(address, bytes, Kind::registered, context) ? CUDA_SUCCESS
                                                                 : CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
}

FAKE_API CUresult cuMemHostRegister(void* memory, std::size_t bytes, unsigned int flags) {
    return cuMemHostRegister_v2(memory, bytes, flags);
}

FAKE_API CUresult cuMemHostUnregister(void* memory) {
    Context* context = nullptr;
    if (CUresult result = enter_unsafe(context); result != CUDA_SUCCESS) return result;
    synchronize_context(context);
    const CUresult result = release(reinterpret_cast<std::uintptr_t>(memory), Kind::registered);
    return result == CUDA_SUCCESS ? result : CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
}

FAKE_API CUresult cuPointerGetAttribute(void* out, CUpointer_attribute attribute, CUdeviceptr address) {
    if (CUresult result = enter(); result != CUDA_SUCCESS) return result;
    const std::lock_guard lock(ranges().mutex);
    const auto range = find_range(address, 1);
    if (out == nullptr || range == ranges().all.end())
        return failed(CUDA_ERROR_INVALID_VALUE, "cuPointerGetAttribute",
                      "the driver does not know the address");
    switch (attribute) {
        case CU_POINTER_ATTRIBUTE_CONTEXT:
            *static_cast<CUcontext*>(out) = reinterpret_cast<CUcontext>(range->second.context);
            return CUDA_SUCCESS;
        case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
            *static_cast<unsigned*>(out) =
                is_of_device(range->second.kind) ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
            return CUDA_SUCCESS;
        case CU_POINTER_ATTRIBUTE_IS_MANAGED:
            *static_cast<unsigned*>(out) = 0;
            return CUDA_SUCCESS;
        case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
            *static_cast<int*>(out) = range->second.context->device;
            return CUDA_SUCCESS;
        case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
            *static_cast<CUdeviceptr*>(out) = range->first;
            return CUDA_SUCCESS;
        case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
            *static_cast<std::size_t*>(out) = range->second.bytes;
            return CUDA_SUCCESS;
        default:
            return CUDA_ERROR_NOT_SUPPORTED;
    }
}

FAKE_API CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr* out, void* memory, unsigned int flags) {
    Context* context = nullptr;
    if (CUresult result = enter(context); result != CUDA_SUCCESS) return result;
    const auto address = reinterpret_cast<std::uintptr_t>(memory);
    if (out == nullptr || flags != 0 || !is_known(address, 1)) return CUDA_ERROR_INVALID_VALUE;
    *out = address;
    return CUDA_SUCCESS;
}

#define FAKE_MEMORY_FUNCTIONS(ptsz, per_thread)                                                             \
    FAKE_API CUresult cuMemAllocAsync##ptsz(CUdeviceptr* out, std::size_t bytes, CUstream stream) {         \
        return alloc_async(out, bytes, stream, per_thread);                                                 \
    }                                                                                                       \
    FAKE_API CUresult cuMemAllocFromPoolAsync##ptsz(CUdeviceptr* out, std::size_t bytes, CUmemoryPool pool, \
                                                    CUstream stream) {                                      \
        if (!is_pool(pool)) return CUDA_ERROR_INVALID_VALUE;                                                \
        return alloc_async(out, bytes, stream, per_thread);                                                 \
    }                                                                                                       \
    FAKE_API CUresult cuMemFreeAsync##ptsz(CUdeviceptr address, CUstream stream) {                          \
        return free_async(address, stream, per_thread);                                                     \
    }

FAKE_MEMORY_FUNCTIONS(, false)
FAKE_MEMORY_FUNCTIONS(_ptsz, true)
