// Memory, all of it on the host. Addresses are believed only where something was allocated or registered.
#include <cstdlib>
#include <cstring>
#include <map>

#include "tests/fakes/driver/fake_driver.hpp"

namespace fake_cuda {
namespace {

// Where the real driver aligns to; models test for 16 bytes.
constexpr std::size_t kAlignment = 512;
constexpr std::size_t kTotalBytes = std::size_t{8} << 30U;

enum class Kind { device, host, registered };

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

/// Under the mutex: the range that holds [address, address + bytes).
std::map<std::uintptr_t, Range>::iterator find_range(std::uintptr_t address, std::size_t bytes) {
    auto& all = ranges().all;
    auto at = all.upper_bound(address);
    if (at == all.begin()) return all.end();
    --at;
    const bool inside =
        address - at->first <= at->second.bytes && bytes <= at->second.bytes - (address - at->first);
    return inside ? at : all.end();
}

bool is_known(CUdeviceptr address, std::size_t bytes) {
    const std::lock_guard lock(ranges().mutex);
    return find_range(address, bytes) != ranges().all.end();
}

CUresult allocate(std::uintptr_t& address, std::size_t bytes, Kind kind, Context* context) {
    if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
    const std::size_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
    const std::lock_guard lock(ranges().mutex);
    if (ranges().allocated + rounded > kTotalBytes) return CUDA_ERROR_OUT_OF_MEMORY;
    void* memory = std::aligned_alloc(kAlignment, rounded);
    if (memory == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
    address = reinterpret_cast<std::uintptr_t>(memory);
    ranges().all[address] = {bytes, kind, context};
    ranges().allocated += rounded;
    return CUDA_SUCCESS;
}

CUresult release(std::uintptr_t address, Kind kind) {
    const std::lock_guard lock(ranges().mutex);
    const auto at = ranges().all.find(address);
    if (at == ranges().all.end() || at->second.kind != kind) return CUDA_ERROR_INVALID_VALUE;
    if (kind != Kind::registered) {
        ranges().allocated -= (at->second.bytes + kAlignment - 1) / kAlignment * kAlignment;
        std::free(reinterpret_cast<void*>(address));
    }
    ranges().all.erase(at);
    return CUDA_SUCCESS;
}

/// Work that moves or sets bytes, on a stream or, with `wait`, over before the call returns.
CUresult enqueue(CUstream handle, bool per_thread, bool wait, std::function<void()> work) {
    Context* context = nullptr;
    if (CUresult result = enter(context); result != CUDA_SUCCESS) return result;
    Stream* stream = nullptr;
    if (CUresult result = find_stream(handle, per_thread, context, stream); result != CUDA_SUCCESS)
        return result;
    if (wait) {
        if (CUresult result = unsafe_during_capture(); result != CUDA_SUCCESS) return result;
    }
    if (stream->captures) return capture_task(stream, std::move(work));
    if (CUresult result = implicit_during_capture(stream); result != CUDA_SUCCESS) return result;
    const std::uint64_t ticket = submit_in_order(stream, std::move(work));
    if (!wait) return CUDA_SUCCESS;
    stream->queue->wait(ticket);
    return static_cast<CUresult>(context->sticky.load());
}

void* at(CUdeviceptr address) {
    return reinterpret_cast<void*>(address);
}

CUresult copy(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream, bool per_thread,
              bool wait) {
    if (bytes == 0) return CUDA_SUCCESS;
    if (to == 0 || from == 0) return CUDA_ERROR_INVALID_VALUE;
    return enqueue(stream, per_thread, wait, [=] { std::memmove(at(to), at(from), bytes); });
}

template <typename Unit>
CUresult set(CUdeviceptr to, Unit value, std::size_t count, CUstream stream, bool per_thread, bool wait) {
    if (!is_known(to, count * sizeof(Unit)) || to % sizeof(Unit) != 0) return CUDA_ERROR_INVALID_VALUE;
    return enqueue(stream, per_thread, wait, [=] {
        auto* units = static_cast<Unit*>(at(to));
        for (std::size_t i = 0; i < count; ++i)
            units[i] = value;
    });
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
    if (stream->captures) return CUDA_ERROR_NOT_SUPPORTED;  // memory nodes of graphs are left out
    std::uintptr_t address = 0;
    const CUresult result = allocate(address, bytes, Kind::device, context);
    if (result == CUDA_SUCCESS) *out = address;
    return result;
}

}  // namespace

void free_memory_of(Context* context) {
    const std::lock_guard lock(ranges().mutex);
    auto& all = ranges().all;
    for (auto range = all.begin(); range != all.end();) {
        if (range->second.context != context) {
            ++range;
            continue;
        }
        if (range->second.kind != Kind::registered) {
            ranges().allocated -= (range->second.bytes + kAlignment - 1) / kAlignment * kAlignment;
            std::free(reinterpret_cast<void*>(range->first));
        }
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
    *free_bytes = kTotalBytes - ranges().allocated;
    *total = kTotalBytes;
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
    const std::lock_guard lock(ranges().mutex);
    const auto address = reinterpret_cast<std::uintptr_t>(memory);
    if (find_range(address, 1) != ranges().all.end()) return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
    ranges().all[address] = {bytes, Kind::registered, context};
    return CUDA_SUCCESS;
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

FAKE_API CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr* out, void* memory, unsigned int flags) {
    Context* context = nullptr;
    if (CUresult result = enter(context); result != CUDA_SUCCESS) return result;
    const auto address = reinterpret_cast<std::uintptr_t>(memory);
    if (out == nullptr || flags != 0 || !is_known(address, 1)) return CUDA_ERROR_INVALID_VALUE;
    *out = address;
    return CUDA_SUCCESS;
}

#define FAKE_MEMORY_FUNCTIONS(ptds, ptsz, per_thread)                                                 \
    FAKE_API CUresult cuMemcpyHtoD_v2##ptds(CUdeviceptr to, const void* from, std::size_t bytes) {    \
        if (!is_known(to, bytes)) return CUDA_ERROR_INVALID_VALUE;                                    \
        return copy(to, reinterpret_cast<CUdeviceptr>(from), bytes, nullptr, per_thread, true);       \
    }                                                                                                 \
    FAKE_API CUresult cuMemcpyDtoH_v2##ptds(void* to, CUdeviceptr from, std::size_t bytes) {          \
        if (!is_known(from, bytes)) return CUDA_ERROR_INVALID_VALUE;                                  \
        return copy(reinterpret_cast<CUdeviceptr>(to), from, bytes, nullptr, per_thread, true);       \
    }                                                                                                 \
    FAKE_API CUresult cuMemcpyDtoD_v2##ptds(CUdeviceptr to, CUdeviceptr from, std::size_t bytes) {    \
        if (!is_known(to, bytes) || !is_known(from, bytes)) return CUDA_ERROR_INVALID_VALUE;          \
        return copy(to, from, bytes, nullptr, per_thread, false);                                     \
    }                                                                                                 \
    FAKE_API CUresult cuMemcpy##ptds(CUdeviceptr to, CUdeviceptr from, std::size_t bytes) {           \
        return copy(to, from, bytes, nullptr, per_thread, true);                                      \
    }                                                                                                 \
    FAKE_API CUresult cuMemcpyHtoDAsync_v2##ptsz(CUdeviceptr to, const void* from, std::size_t bytes, \
                                                 CUstream stream) {                                   \
        if (!is_known(to, bytes)) return CUDA_ERROR_INVALID_VALUE;                                    \
        return copy(to, reinterpret_cast<CUdeviceptr>(from), bytes, stream, per_thread, false);       \
    }                                                                                                 \
    FAKE_API CUresult cuMemcpyDtoHAsync_v2##ptsz(void* to, CUdeviceptr from, std::size_t bytes,       \
                                                 CUstream stream) {                                   \
        if (!is_known(from, bytes)) return CUDA_ERROR_INVALID_VALUE;                                  \
        return copy(reinterpret_cast<CUdeviceptr>(to), from, bytes, stream, per_thread, false);       \
    }                                                                                                 \
    FAKE_API CUresult cuMemcpyDtoDAsync_v2##ptsz(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, \
                                                 CUstream stream) {                                   \
        if (!is_known(to, bytes) || !is_known(from, bytes)) return CUDA_ERROR_INVALID_VALUE;          \
        return copy(to, from, bytes, stream, per_thread, false);                                      \
    }                                                                                                 \
    FAKE_API CUresult cuMemcpyAsync##ptsz(CUdeviceptr to, CUdeviceptr from, std::size_t bytes,        \
                                          CUstream stream) {                                          \
        return copy(to, from, bytes, stream, per_thread, false);                                      \
    }                                                                                                 \
    FAKE_API CUresult cuMemsetD8_v2##ptds(CUdeviceptr to, unsigned char value, std::size_t count) {   \
        return set(to, value, count, nullptr, per_thread, false);                                     \
    }                                                                                                 \
    FAKE_API CUresult cuMemsetD32_v2##ptds(CUdeviceptr to, unsigned int value, std::size_t count) {   \
        return set(to, value, count, nullptr, per_thread, false);                                     \
    }                                                                                                 \
    FAKE_API CUresult cuMemsetD8Async##ptsz(CUdeviceptr to, unsigned char value, std::size_t count,   \
                                            CUstream stream) {                                        \
        return set(to, value, count, stream, per_thread, false);                                      \
    }                                                                                                 \
    FAKE_API CUresult cuMemsetD32Async##ptsz(CUdeviceptr to, unsigned int value, std::size_t count,   \
                                             CUstream stream) {                                       \
        return set(to, value, count, stream, per_thread, false);                                      \
    }                                                                                                 \
    FAKE_API CUresult cuMemAllocAsync##ptsz(CUdeviceptr* out, std::size_t bytes, CUstream stream) {   \
        return alloc_async(out, bytes, stream, per_thread);                                           \
    }                                                                                                 \
    FAKE_API CUresult cuMemFreeAsync##ptsz(CUdeviceptr address, CUstream stream) {                    \
        return free_async(address, stream, per_thread);                                               \
    }

FAKE_MEMORY_FUNCTIONS(, , false)
FAKE_MEMORY_FUNCTIONS(_ptds, _ptsz, true)
