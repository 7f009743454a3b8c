// cuInit, devices and contexts.
#include <pthread.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "tests/fakes/driver/fake_driver.hpp"

namespace fake_cuda {
namespace {

struct ProcessState {
    std::atomic<bool> initialised{false};
    std::atomic<bool> forked{false};  // from an initialized process: every call fails, as on real drivers
    std::mutex mutex;
    std::vector<Context*> primary;  // one per device, nullptr if none
    std::vector<int> retained;
    std::vector<unsigned int> primary_flags;
    std::atomic<std::uint64_t> next_context_id{1};
};

ProcessState& state() {
    static auto* instance = new ProcessState;
    return *instance;
}

std::vector<Context*>& context_stack() {
    thread_local std::vector<Context*> stack;
    return stack;
}

CUresult make_context(int device, unsigned int flags, unsigned int api_version, Context*& context) {
    const std::uint64_t id = state().next_context_id++;
    if (!note_context(id)) return CUDA_ERROR_OPERATING_SYSTEM;
    context = pools().contexts.take();
    if (context == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
    context->device = device;
    context->flags = flags;
    context->api_version = api_version;
    context->sticky = 0;
    context->has_faulted = false;
    context->grids = 0;
    context->blocking_streams = 0;
    context->id = id;
    make_legacy_stream(context);
    prepare_for_faults();
    context->alive.store(true, std::memory_order_release);
    return CUDA_SUCCESS;
}

void end_context(Context* context) {
    context->alive.store(false, std::memory_order_release);
    note_end_of_context(context->id);
    end_streams_of(context);
    unload_modules_of(context);
    free_memory_of(context);
    auto& stack = context_stack();
    stack.erase(std::remove(stack.begin(), stack.end(), context), stack.end());
    pools().contexts.give_back(context);
}

CUresult create_context(CUcontext* out, unsigned int flags, CUdevice device, unsigned int api_version) {
    if (CUresult result = enter(); result != CUDA_SUCCESS) return result;
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (device < 0 || device >= device_count()) return CUDA_ERROR_INVALID_DEVICE;
    if (CUresult result = unsafe_during_capture(); result != CUDA_SUCCESS) return result;
    Context* context = nullptr;
    if (CUresult result = make_context(device, flags, api_version, context); result != CUDA_SUCCESS)
        return result;
    context_stack().push_back(context);
    *out = reinterpret_cast<CUcontext>(context);
    return CUDA_SUCCESS;
}

CUresult destroy_context(CUcontext handle) {
    if (CUresult result = enter(); result != CUDA_SUCCESS) return result;
    Context* context = pools().contexts.check(handle);
    if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    const std::lock_guard lock(state().mutex);
    const auto& primary = state().primary;
    if (std::find(primary.begin(), primary.end(), context) != primary.end())
        return CUDA_ERROR_INVALID_CONTEXT;
    end_context(context);
    return CUDA_SUCCESS;
}

CUresult end_primary(CUdevice device, bool reset) {
    if (CUresult result = enter(); result != CUDA_SUCCESS) return result;
    if (device < 0 || device >= device_count()) return CUDA_ERROR_INVALID_DEVICE;
    const std::lock_guard lock(state().mutex);
    const auto at = static_cast<std::size_t>(device);
    if (!reset) {
        if (state().retained[at] == 0) return CUDA_ERROR_INVALID_CONTEXT;
        if (--state().retained[at] > 0) return CUDA_SUCCESS;
    }
    if (state().primary[at] != nullptr) end_context(state().primary[at]);
    state().primary[at] = nullptr;
    return CUDA_SUCCESS;
}

CUresult check_device(CUdevice device, const void* out) {
    if (CUresult result = enter(); result != CUDA_SUCCESS) return result;
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return device < 0 || device >= device_count() ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS;
}

struct Failing {
    std::uint64_t calls = 0;  // calls up to and including the failing one; 0 if none fails
    CUresult result = CUDA_SUCCESS;
};
thread_local Failing t_failing;

}  // namespace

Pools& pools() {
    static auto* instance = new Pools;
    return *instance;
}

CUresult enter() {
    expect_no_callback();
    if (t_failing.calls != 0 && --t_failing.calls == 0) return t_failing.result;
    const ProcessState& process = state();
    if (process.forked.load(std::memory_order_relaxed))
        return failed(CUDA_ERROR_NOT_INITIALIZED, "cuInit", "the driver was initialized before a fork");
    return process.initialised.load(std::memory_order_acquire) ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
}

CUresult enter(Context*& context) {
    if (CUresult result = enter(); result != CUDA_SUCCESS) return result;
    context = current_context();
    if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    if (!context->alive.load(std::memory_order_acquire)) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    return static_cast<CUresult>(context->sticky.load(std::memory_order_acquire));
}

bool is_initialised() {
    return enter() == CUDA_SUCCESS;
}

int device_count() {
    static const int count = [] {
        const char* text = std::getenv("FAKE_CUDA_DEVICES");
        return text == nullptr ? 1 : std::atoi(text);
    }();
    return count;
}

Context* current_context() {
    const auto& stack = context_stack();
    return stack.empty() ? nullptr : stack.back();
}

}  // namespace fake_cuda

using namespace fake_cuda;

FAKE_API CUresult cuInit(unsigned int flags) {
    if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
    ProcessState& process = state();
    if (process.forked) return CUDA_ERROR_NOT_INITIALIZED;
    if (device_count() <= 0) return CUDA_ERROR_NO_DEVICE;
    const std::lock_guard lock(process.mutex);
    if (process.initialised) return CUDA_SUCCESS;
    const auto count = static_cast<std::size_t>(device_count());
    process.primary.assign(count, nullptr);
    process.retained.assign(count, 0);
    process.primary_flags.assign(count, 0);
    pthread_atfork(nullptr, nullptr, [] { state().forked = true; });
    process.initialised.store(true, std::memory_order_release);
    return CUDA_SUCCESS;
}

// ---- devices ----

FAKE_API CUresult cuDeviceGet(CUdevice* device, int ordinal) {
    if (CUresult result = check_device(ordinal, device); result != CUDA_SUCCESS) return result;
    *device = ordinal;
    return CUDA_SUCCESS;
}

FAKE_API CUresult cuDeviceGetCount(int* count) {
    if (CUresult result = check_device(0, count); result != CUDA_SUCCESS) return result;
    *count = device_count();
    return CUDA_SUCCESS;
}

FAKE_API CUresult cuDeviceGetName(char* name, int length, CUdevice device) {
    if (CUresult result = check_device(device, name); result != CUDA_SUCCESS) return result;
    if (length <= 0) return CUDA_ERROR_INVALID_VALUE;
    std::strncpy(name, "Software device", static_cast<std::size_t>(length));
    name[length - 1] = '\0';
    return CUDA_SUCCESS;
}

FAKE_API CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice device) {
    if (CUresult result = check_device(device, uuid); result != CUDA_SUCCESS) return result;
    std::memset(uuid, 0xa0 + device, sizeof(*uuid));
    return CUDA_SUCCESS;
}

FAKE_API CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice device) {
    return cuDeviceGetUuid_v2(uuid, device);
}

FAKE_API CUresult cuDeviceTotalMem_v2(std::size_t* bytes, CUdevice device) {
    if (CUresult result = check_device(device, bytes); result != CUDA_SUCCESS) return result;
    *bytes = std::size_t{8} << 30U;
    return CUDA_SUCCESS;
}

FAKE_API CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
    if (CUresult result = check_device(device, value); result != CUDA_SUCCESS) return result;
    switch (attribute) {
        case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
            *value = 9;
            break;
        case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
            *value = 0;
            break;
        case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
            *value = 4;
            break;
        case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
            *value = 1024;
            break;
        case CU_DEVICE_ATTRIBUTE_WARP_SIZE:
            *value = 32;
            break;
        case CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE:
            *value = 1'000'000;
            break;
        case CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH:
            // The second device does not report it.
            *value = device == 1 ? 0 : 512;
            break;
        case CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING:
        case CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY:
        case CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM:
        case CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED:
            *value = 1;
            break;
        default:
            *value = 0;
            break;
    }
    return attribute <= 0 || attribute >= CU_DEVICE_ATTRIBUTE_MAX ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

// ---- contexts ----

FAKE_API CUresult cuDevicePrimaryCtxRetain(CUcontext* out, CUdevice device) {
    if (CUresult result = check_device(device, out); result != CUDA_SUCCESS) return result;
    const std::lock_guard lock(state().mutex);
    const auto at = static_cast<std::size_t>(device);
    if (state().primary[at] == nullptr) {
        const CUresult result = make_context(device, state().primary_flags[at], 13000, state().primary[at]);
        if (result != CUDA_SUCCESS) return result;
    }
    ++state().retained[at];
    *out = reinterpret_cast<CUcontext>(state().primary[at]);
    return CUDA_SUCCESS;
}

FAKE_API CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned int* flags, int* active) {
    if (CUresult result = check_device(device, flags); result != CUDA_SUCCESS) return result;
    if (active == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const std::lock_guard lock(state().mutex);
    *flags = state().primary_flags[static_cast<std::size_t>(device)];
    *active = state().primary[static_cast<std::size_t>(device)] != nullptr ? 1 : 0;
    return CUDA_SUCCESS;
}

FAKE_API CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice device, unsigned int flags) {
    if (CUresult result = check_device(device, &flags); result != CUDA_SUCCESS) return result;
    const std::lock_guard lock(state().mutex);
    state().primary_flags[static_cast<std::size_t>(device)] = flags;
    return CUDA_SUCCESS;
}

FAKE_API CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
    return end_primary(device, false);
}
FAKE_API CUresult cuDevicePrimaryCtxRelease(CUdevice device) {
    return end_primary(device, false);
}
FAKE_API CUresult cuDevicePrimaryCtxReset_v2(CUdevice device) {
    return end_primary(device, true);
}
FAKE_API CUresult cuDevicePrimaryCtxReset(CUdevice device) {
    return end_primary(device, true);
}

FAKE_API CUresult cuCtxCreate(CUcontext* out, unsigned int flags, CUdevice device) {
    return create_context(out, flags, device, 3010);
}

FAKE_API CUresult cuCtxCreate_v2(CUcontext* out, unsigned int flags, CUdevice device) {
    return create_context(out, flags, device, 3020);
}

FAKE_API CUresult cuCtxCreate_v3(CUcontext* out, CUexecAffinityParam* affinity, int count, unsigned int flags,
                                 CUdevice device) {
    if (count < 0 || (count > 0 && affinity == nullptr)) return CUDA_ERROR_INVALID_VALUE;
    return create_context(out, flags, device, 11040);
}

#if CUDA_VERSION >= 12050
FAKE_API CUresult cuCtxCreate_v4(CUcontext* out, CUctxCreateParams*, unsigned int flags, CUdevice device) {
    return create_context(out, flags, device, 12050);
}
#endif

FAKE_API CUresult cuCtxDestroy_v2(CUcontext context) {
    return destroy_context(context);
}
FAKE_API CUresult cuCtxDestroy(CUcontext context) {
    return destroy_context(context);
}

FAKE_API CUresult cuCtxPushCurrent_v2(CUcontext handle) {
    if (CUresult result = enter(); result != CUDA_SUCCESS) return result;
    Context* context = pools().contexts.check(handle);
    if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    context_stack().push_back(context);
    return CUDA_SUCCESS;
}

FAKE_API CUresult cuCtxPopCurrent_v2(CUcontext* out) {
    if (CUresult result = enter(); result != CUDA_SUCCESS) return result;
    auto& stack = context_stack();
    if (stack.empty()) return CUDA_ERROR_INVALID_CONTEXT;
    if (out != nullptr) *out = reinterpret_cast<CUcontext>(stack.back());
    stack.pop_back();
    return CUDA_SUCCESS;
}

FAKE_API CUresult cuCtxSetCurrent(CUcontext handle) {
    if (CUresult result = enter(); result != CUDA_SUCCESS) return result;
    Context* context = pools().contexts.check(handle);
    if (context == nullptr && handle != nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    auto& stack = context_stack();
    if (!stack.empty()) stack.pop_back();
    if (context != nullptr) stack.push_back(context);
    return CUDA_SUCCESS;
}

FAKE_API CUresult cuCtxGetCurrent(CUcontext* out) {
    if (CUresult result = enter(); result != CUDA_SUCCESS) return result;
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *out = reinterpret_cast<CUcontext>(current_context());
    return CUDA_SUCCESS;
}

FAKE_API CUresult cuCtxGetDevice(CUdevice* device) {
    if (CUresult result = enter(); result != CUDA_SUCCESS) return result;
    if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const Context* context = current_context();
    if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    *device = context->device;
    return CUDA_SUCCESS;
}

FAKE_API CUresult cuCtxGetId(CUcontext handle, unsigned long long* id) {
    if (CUresult result = enter(); result != CUDA_SUCCESS) return result;
    if (id == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const Context* context = handle == nullptr ? current_context() : pools().contexts.check(handle);
    if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    *id = context->id;
    return CUDA_SUCCESS;
}

FAKE_API CUresult cuCtxGetApiVersion(CUcontext handle, unsigned int* version) {
    if (CUresult result = enter(); result != CUDA_SUCCESS) return result;
    if (version == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const Context* context = handle == nullptr ? current_context() : pools().contexts.check(handle);
    if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    *version = context->api_version;
    return CUDA_SUCCESS;
}

FAKE_API CUresult cuCtxSynchronize() {
    Context* context = nullptr;
    if (CUresult result = enter(context); result != CUDA_SUCCESS) return result;
    if (CUresult result = unsafe_during_capture(); result != CUDA_SUCCESS) return result;
    synchronize_context(context);
    return static_cast<CUresult>(context->sticky.load());
}

FAKE_API void fake_cuda_fail_call(uint64_t call, int result) {
    fake_cuda::t_failing = {call, static_cast<CUresult>(result)};
}
FAKE_API int fake_cuda_fails_yet() {
    return fake_cuda::t_failing.calls != 0 ? 1 : 0;
}
