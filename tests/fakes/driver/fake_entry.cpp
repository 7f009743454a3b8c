// Error names, the driver version and cuGetProcAddress.
#include <cstring>

#include "tests/fakes/driver/fake_driver.hpp"

namespace fake_cuda {
namespace {

struct ErrorText {
    CUresult code;
    const char* name;
    const char* text;
};

#define FAKE_ERROR(code, text) \
    { code, #code, text }
constexpr ErrorText kErrors[] = {
    FAKE_ERROR(CUDA_SUCCESS, "no error"),
    FAKE_ERROR(CUDA_ERROR_INVALID_VALUE, "invalid argument"),
    FAKE_ERROR(CUDA_ERROR_OUT_OF_MEMORY, "out of memory"),
    FAKE_ERROR(CUDA_ERROR_NOT_INITIALIZED, "initialization error"),
    FAKE_ERROR(CUDA_ERROR_NO_DEVICE, "no CUDA-capable device is detected"),
    FAKE_ERROR(CUDA_ERROR_INVALID_DEVICE, "invalid device ordinal"),
    FAKE_ERROR(CUDA_ERROR_INVALID_IMAGE, "device kernel image is invalid"),
    FAKE_ERROR(CUDA_ERROR_INVALID_CONTEXT, "invalid device context"),
    FAKE_ERROR(CUDA_ERROR_FILE_NOT_FOUND, "file not found"),
    FAKE_ERROR(CUDA_ERROR_INVALID_HANDLE, "invalid resource handle"),
    FAKE_ERROR(CUDA_ERROR_ILLEGAL_STATE, "the operation cannot be performed in the present state"),
    FAKE_ERROR(CUDA_ERROR_NOT_FOUND, "named symbol not found"),
    FAKE_ERROR(CUDA_ERROR_NOT_READY, "device not ready"),
    FAKE_ERROR(CUDA_ERROR_ILLEGAL_ADDRESS, "an illegal memory access was encountered"),
    FAKE_ERROR(CUDA_ERROR_CONTEXT_IS_DESTROYED, "context is destroyed"),
    FAKE_ERROR(CUDA_ERROR_NOT_SUPPORTED, "operation not supported"),
    FAKE_ERROR(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "operation not permitted when stream is capturing"),
    FAKE_ERROR(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED,
               "operation failed due to a previous error during capture"),
    FAKE_ERROR(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT,
               "operation would make the legacy stream depend on a capturing blocking stream"),
    FAKE_ERROR(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD,
               "attempt to terminate a thread-local capture sequence "
               "from another thread"),
    FAKE_ERROR(CUDA_ERROR_UNKNOWN, "unknown error"),
};
#undef FAKE_ERROR

const ErrorText* find_error(CUresult code) {
    for (const ErrorText& error : kErrors) {
        if (error.code == code) return &error;
    }
    return nullptr;
}

struct EntryPoint {
    const char* name;
    int version;
    void* legacy;
    void* per_thread;
};

const EntryPoint* find_entry(const char* name, int version, bool& known) {
    static const EntryPoint entries[] = {
#define FAKE_ENTRY(name, version, symbol, per_thread_symbol) \
    {#name, version, reinterpret_cast<void*>(&::symbol), reinterpret_cast<void*>(&::per_thread_symbol)},
#include "tests/fakes/driver/fake_entry_points.def"
    };
    const EntryPoint* best = nullptr;
    for (const EntryPoint& entry : entries) {
        if (std::strcmp(entry.name, name) != 0) continue;
        known = true;
        if (entry.version <= version) best = &entry;
    }
    return best;
}

CUresult look_up(const char* name, void** function, int version, cuuint64_t flags,
                 CUdriverProcAddressQueryResult* status) {
    constexpr cuuint64_t kKnownFlags =
        CU_GET_PROC_ADDRESS_LEGACY_STREAM | CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
    if (name == nullptr || function == nullptr || version > kDriverVersion || (flags & ~kKnownFlags) != 0 ||
        flags == kKnownFlags) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    bool known = false;
    const EntryPoint* entry = find_entry(name, version, known);
    if (status != nullptr) {
        *status = entry != nullptr ? CU_GET_PROC_ADDRESS_SUCCESS
                  : known          ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                                   : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    }
    *function = nullptr;
    if (entry == nullptr) return CUDA_ERROR_NOT_FOUND;
    *function =
        (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0 ? entry->per_thread : entry->legacy;
    return CUDA_SUCCESS;
}

}  // namespace
}  // namespace fake_cuda

using namespace fake_cuda;

FAKE_API CUresult cuGetErrorName(CUresult code, const char** text) {
    if (text == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const ErrorText* error = find_error(code);
    *text = error == nullptr ? nullptr : error->name;
    return error == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

FAKE_API CUresult cuGetErrorString(CUresult code, const char** text) {
    if (text == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const ErrorText* error = find_error(code);
    *text = error == nullptr ? nullptr : error->text;
    return error == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

FAKE_API CUresult cuDriverGetVersion(int* version) {
    if (version == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *version = kDriverVersion;
    return CUDA_SUCCESS;
}

FAKE_API CUresult cuGetProcAddress(const char* name, void** function, int version, cuuint64_t flags) {
    return look_up(name, function, version, flags, nullptr);
}

FAKE_API CUresult cuGetProcAddress_v2(const char* name, void** function, int version, cuuint64_t flags,
                                      CUdriverProcAddressQueryResult* status) {
    return look_up(name, function, version, flags, status);
}
