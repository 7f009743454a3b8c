// Core dumps of faults: asked for globally after cuInit and before the first context, by the driver's
// variables or by cuCoredumpSetAttributeGlobal, over which these win. What is written names the kernel, and
// is no ELF.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>

#include "tests/fakes/driver/fake_driver.hpp"

namespace fake_cuda {
namespace {

struct CoreDumps {
    std::mutex mutex;
    bool enabled = false;
    bool is_late = false;  // there is a context, or was
    std::string file;
    unsigned contents = 0;
};

CoreDumps& dumps() {
    static auto* instance = new CoreDumps;
    return *instance;
}

const char* variable(const char* name) {
    const char* value = std::getenv(name);
    return value != nullptr && *value != '\0' ? value : nullptr;
}

bool is_known() {
    return std::getenv("FAKE_CUDA_NO_COREDUMP") == nullptr;
}

}  // namespace

void note_context() {
    const std::lock_guard lock(dumps().mutex);
    dumps().is_late = true;
}

void write_core_dump(const std::string& kernel) {
    const std::lock_guard lock(dumps().mutex);
    const char* asked = variable("CUDA_ENABLE_COREDUMP_ON_EXCEPTION");
    if (asked != nullptr ? std::strcmp(asked, "1") != 0 : !dumps().enabled) return;
    const char* named = variable("CUDA_COREDUMP_FILE");
    std::FILE* file = std::fopen(named != nullptr ? named : dumps().file.c_str(), "we");
    if (file == nullptr) return;
    std::fprintf(file, "fault in %s; contents %#x\n", kernel.c_str(), dumps().contents);
    std::fclose(file);
}

}  // namespace fake_cuda

using namespace fake_cuda;

FAKE_API CUresult cuCoredumpGetAttributeGlobal(CUcoredumpSettings what, void* value, std::size_t* bytes) {
    if (!is_known()) return CUDA_ERROR_NOT_SUPPORTED;
    if (value == nullptr || bytes == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const std::lock_guard lock(dumps().mutex);
    if (what != CU_COREDUMP_ENABLE_ON_EXCEPTION || *bytes != sizeof(bool)) return CUDA_ERROR_INVALID_VALUE;
    *static_cast<bool*>(value) = dumps().enabled;
    return CUDA_SUCCESS;
}

FAKE_API CUresult cuCoredumpSetAttributeGlobal(CUcoredumpSettings what, void* value, std::size_t* bytes) {
    if (!is_initialised()) std::abort();  // the driver of 580 crashes
    if (!is_known()) return CUDA_ERROR_NOT_SUPPORTED;
    if (value == nullptr || bytes == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const std::lock_guard lock(dumps().mutex);
    if (dumps().is_late) return CUDA_SUCCESS;
    constexpr int kContents = 7;  // CU_COREDUMP_GENERATION_FLAGS, since 12.5
    switch (static_cast<int>(what)) {
        case CU_COREDUMP_ENABLE_ON_EXCEPTION:
            if (*bytes != sizeof(bool)) return CUDA_ERROR_INVALID_VALUE;
            dumps().enabled = *static_cast<bool*>(value);
            return CUDA_SUCCESS;
        case CU_COREDUMP_FILE:
            if (*bytes == 0 || *bytes > 1024) return CUDA_ERROR_INVALID_VALUE;
            dumps().file = static_cast<const char*>(value);
            return CUDA_SUCCESS;
        case kContents:
            if (*bytes != sizeof(unsigned)) return CUDA_ERROR_INVALID_VALUE;
            dumps().contents = *static_cast<unsigned*>(value);
            return CUDA_SUCCESS;
        default:
            return CUDA_ERROR_INVALID_VALUE;
    }
}
