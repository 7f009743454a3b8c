// The part of NVIDIA's management library that the command uses, for two GPUs. FAKE_NVML breaks the second
// one: `ecc` reports 3 uncorrected errors and `rows` pending row remappings. With `old`, the library supports
// neither query. Otherwise the GPU is healthy.
#include <cstdlib>
#include <cstring>

namespace {

bool is_set(const char* what) {
    const char* const value = std::getenv("FAKE_NVML");
    return value != nullptr && std::strstr(value, what) != nullptr;
}

constexpr int kNotSupported = 3;
int g_devices[2];

}  // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT int nvmlInit_v2() {
    return 0;
}
EXPORT int nvmlShutdown() {
    return 0;
}
EXPORT int nvmlDeviceGetCount_v2(unsigned* count) {
    *count = 2;
    return 0;
}
EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
    *device = &g_devices[index];
    return 0;
}
EXPORT int nvmlDeviceGetTotalEccErrors(void* device, int kind, int counter, unsigned long long* count) {
    if (is_set("old")) return kNotSupported;
    *count = device == &g_devices[1] && kind == 1 && counter == 0 && is_set("ecc") ? 3 : 0;
    return 0;
}
EXPORT int nvmlDeviceGetRemappedRows(void* device, unsigned* corrected, unsigned* uncorrected,
                                     unsigned* pending, unsigned* failed) {
    if (is_set("old")) return kNotSupported;
    *corrected = *uncorrected = *failed = 0;
    *pending = device == &g_devices[1] && is_set("rows") ? 1 : 0;
    return 0;
}
