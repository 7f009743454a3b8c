// See doctor_child.hpp. The command must not include cuda.h, so this file declares driver handles as
// pointers, and results and devices as integers.
#include "cli/doctor/doctor_child.hpp"

#include <dlfcn.h>

#include <array>
#include <cinttypes>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <string>

#include "base/unix_time.hpp"
#include "triage/gather/gpu_counters.hpp"

extern "C" {
using LaunchKernel = int(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                         unsigned block_y, unsigned block_z, unsigned shared, void* stream, void** parameters,
                         void** extra);
/// Resolves as in a program linked to the driver: to a preloaded definition, or to null if there is none.
__attribute__((weak, visibility("default"))) LaunchKernel cuLaunchKernel;
}

namespace aoti_dbg::cli {
namespace {

// This PTX version is old enough for every driver in use, which compiles it for any GPU.
constexpr char kKernels[] = R"(.version 7.0
.target sm_52
.address_size 64

.visible .entry aoti_dbg_doctor_dlsym()
{
    ret;
}

.visible .entry aoti_dbg_doctor_entry_point()
{
    ret;
}

.visible .entry aoti_dbg_doctor_linked()
{
    ret;
}

.visible .entry aoti_dbg_doctor_fault(.param .u64 place)
{
    .reg .u64 %to;
    .reg .u32 %what;
    ld.param.u64 %to, [place];
    mov.u32 %what, 1;
    st.global.u32 [%to], %what;
    ret;
}
)";

// No device maps memory at its lowest addresses.
constexpr std::uint64_t kNowhere = 64;
constexpr int kCapabilityMajor = 75;  // from CUdevice_attribute
constexpr int kCapabilityMinor = 76;
constexpr int kComputeMode = 20;
constexpr int kDumpsEnabled = 1;  // from CUcoredumpSettings
constexpr int kSeconds = 5;       // time limit for a fault to appear

__attribute__((format(printf, 1, 2))) void say(const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    std::vprintf(format, arguments);
    va_end(arguments);
    std::putchar('\n');
    std::fflush(stdout);
}

void* libcuda() {
    static void* const handle = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    return handle;
}

template <typename Function>
Function* driver_function(const char* name) {
    return reinterpret_cast<Function*>(dlsym(libcuda(), name));
}

constexpr int kNoFunction = 500;

/// Returns the result of the driver function, or kNoFunction if the driver has none of that name.
template <typename... Arguments>
int call(const char* name, Arguments... arguments) {
    auto* const function = driver_function<int(Arguments...)>(name);
    return function == nullptr ? kNoFunction : function(arguments...);
}

/// Calls the function as call() does and prints it if it fails.
template <typename... Arguments>
bool works(const char* name, Arguments... arguments) {
    const int result = call(name, arguments...);
    if (result != 0) say("stopped %s %d", name, result);
    return result == 0;
}

bool has_driver() {
    if (libcuda() != nullptr) return true;
    const char* const why = dlerror();
    say("missing %s", why == nullptr ? "no error reported" : why);
    return false;
}

void say_gpu(int ordinal) {
    int device = 0;
    std::array<char, 256> name{};
    if (call("cuDeviceGet", &device, ordinal) != 0) return;
    call("cuDeviceGetName", name.data(), static_cast<int>(name.size() - 1), device);
    say("gpu %s", name.data());
    std::array<unsigned char, 16> uuid{};
    if (call("cuDeviceGetUuid_v2", uuid.data(), device) == 0 ||
        call("cuDeviceGetUuid", uuid.data(), device) == 0) {
        const bool is_slice = std::string(name.data()).find("MIG ") != std::string::npos;
        std::string text = is_slice ? "MIG-" : "GPU-";
        for (std::size_t i = 0; i < uuid.size(); ++i) {
            std::array<char, 4> digits{};
            std::snprintf(digits.data(), digits.size(), "%02x", uuid[i]);
            text += (i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "") + std::string(digits.data());
        }
        say("uuid %s", text.c_str());
    }
    std::size_t memory = 0;
    if (call("cuDeviceTotalMem_v2", &memory, device) == 0) say("memory %zu", memory);
    int major = 0;
    int minor = 0;
    if (call("cuDeviceGetAttribute", &major, kCapabilityMajor, device) == 0 &&
        call("cuDeviceGetAttribute", &minor, kCapabilityMinor, device) == 0)
        say("capability %d.%d", major, minor);
    int mode = 0;
    if (call("cuDeviceGetAttribute", &mode, kComputeMode, device) == 0) say("mode %d", mode);
}

int driver_trial() {
    if (!has_driver()) return 0;
    int version = 0;
    if (call("cuDriverGetVersion", &version) == 0) say("version %d", version);
    if (driver_function<int(unsigned)>("cuInit") == nullptr) return 0;
    const int result = call("cuInit", 0U);
    say("init %d", result);
    if (result != 0) return 0;
    // The library queries this before a context exists, so this does too.
    bool enabled = false;
    std::size_t bytes = sizeof enabled;
    if (driver_function<int()>("cuCoredumpSetAttributeGlobal") != nullptr)
        say("dumps %d",
            call("cuCoredumpGetAttributeGlobal", kDumpsEnabled, static_cast<void*>(&enabled), &bytes));
    if (driver_function<int()>("cuCoredumpRegisterStartCallback") != nullptr) say("dump_callback 1");
    int count = 0;
    if (call("cuDeviceGetCount", &count) != 0) return 0;
    for (int ordinal = 0; ordinal < count; ++ordinal)
        say_gpu(ordinal);
    return 0;
}

/// Loads the kernels above on the first GPU, in the context that torch would use.
void* loaded_kernels() {
    int device = 0;
    void* context = nullptr;
    void* module = nullptr;
    const bool done = works("cuInit", 0U) && works("cuDeviceGet", &device, 0) &&
                      works("cuDevicePrimaryCtxRetain", &context, device) &&
                      works("cuCtxSetCurrent", context) &&
                      works("cuModuleLoadData", &module, static_cast<const void*>(kKernels));
    return done ? module : nullptr;
}

LaunchKernel* handed_out_by_driver() {
    int version = 0;
    void* found = nullptr;
    const std::uint64_t flags = 0;
    call("cuDriverGetVersion", &version);
    int status = 0;
    if (call("cuGetProcAddress_v2", "cuLaunchKernel", &found, version, flags, &status) == kNoFunction)
        call("cuGetProcAddress", "cuLaunchKernel", &found, version, flags);
    return reinterpret_cast<LaunchKernel*>(found);
}

void launch_by(const char* door, LaunchKernel* launch, void* module, const char* kernel) {
    void* function = nullptr;
    if (launch == nullptr) return say("door %s", door);
    if (!works("cuModuleGetFunction", &function, module, kernel)) return;
    say("door %s %d", door, launch(function, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr));
}

int library_trial() {
    Dl_info place{};
    if (dladdr(reinterpret_cast<void*>(&dlsym), &place) != 0) say("dlsym %s", place.dli_fname);
    return 0;
}

int doors_trial() {
    library_trial();
    if (!has_driver()) return 0;
    void* const module = loaded_kernels();
    if (module == nullptr) return 0;
    launch_by(kDlsymDoor, driver_function<LaunchKernel>("cuLaunchKernel"), module, kDlsymKernel);
    launch_by(kEntryPointDoor, handed_out_by_driver(), module, kEntryPointKernel);
    launch_by(kLinkedDoor, &cuLaunchKernel, module, kLinkedKernel);
    (void)works("cuCtxSynchronize");
    return 0;
}

int fault_trial() {
    if (!has_driver()) return 0;
    void* const module = loaded_kernels();
    void* function = nullptr;
    if (module == nullptr || !works("cuModuleGetFunction", &function, module, kFaultKernel)) return 0;
    std::uint64_t place = kNowhere;
    void* parameters[] = {&place};
    auto* const launch = driver_function<LaunchKernel>("cuLaunchKernel");
    const std::uint64_t begin = unix_nanoseconds();
    const int launched =
        launch == nullptr ? kNoFunction : launch(function, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr);
    say("launch %d %" PRIu64, launched, begin);
    if (launched != 0) return 0;
    // With core dumps enabled, the first calls may still return success.
    while (unix_nanoseconds() - begin < kSeconds * UINT64_C(1000000000)) {
        const int result = call("cuCtxSynchronize");
        if (result != 0) {
            say("error %d", result);
            return 0;
        }
        const timespec moment = {0, 10'000'000};
        nanosleep(&moment, nullptr);
    }
    return 0;
}

/// Prints one line per error of a GPU.
int counters_trial() {
    for (const std::string& trouble : troubles_of_gpus())
        say("%s", trouble.c_str());
    return 0;
}

}  // namespace

int doctor_child(std::string_view trial) {
    if (trial == "driver") return driver_trial();
    if (trial == "library") return library_trial();
    if (trial == "doors") return doors_trial();
    if (trial == "fault") return fault_trial();
    if (trial == kCountersTrial) return counters_trial();
    return 2;
}

}  // namespace aoti_dbg::cli
