// See cuda_error.hpp.
#include "serializer/cuda_error.hpp"

#include <array>

namespace aoti_dbg {
namespace {

constexpr CudaError kErrors[] = {
    {1, CrashClass::host, "invalid argument"},
    {2, CrashClass::oom, "out of device memory"},
    {3, CrashClass::driver, "driver not initialised"},
    {4, CrashClass::driver, "driver is shutting down"},
    {46, CrashClass::driver, "device busy or unavailable"},
    {100, CrashClass::driver, "no device"},
    {101, CrashClass::driver, "invalid device"},
    {200, CrashClass::driver, "invalid kernel image"},
    {201, CrashClass::host, "invalid context"},
    {209, CrashClass::driver, "no kernel image for this device"},
    {214, CrashClass::hardware, "uncorrectable ECC error"},
    {218, CrashClass::driver, "PTX that the driver cannot compile"},
    {220, CrashClass::hardware, "uncorrectable NVLink error"},
    {400, CrashClass::host, "invalid handle"},
    {500, CrashClass::driver, "symbol not found"},
    {700, CrashClass::kernel, "illegal memory access"},
    {701, CrashClass::kernel, "too many resources requested for a launch"},
    {702, CrashClass::hang, "kernel ran into the time limit"},
    {709, CrashClass::host, "context was destroyed"},
    {710, CrashClass::kernel, "assertion on the device"},
    {714, CrashClass::kernel, "stack error on the device"},
    {715, CrashClass::kernel, "illegal instruction on the device"},
    {716, CrashClass::kernel, "misaligned address"},
    {717, CrashClass::kernel, "operation on the wrong address space"},
    {718, CrashClass::kernel, "invalid program counter on the device"},
    {719, CrashClass::kernel, "exception in a kernel"},
    {720, CrashClass::kernel, "cooperative launch that is too large"},
    {802, CrashClass::driver, "system not ready"},
    {803, CrashClass::driver, "driver does not match the libraries"},
};

constexpr std::array<std::string_view, 7> kWords = {"kernel", "hardware", "driver", "oom",
                                                    "hang",   "host",     "unknown"};

}  // namespace

std::string_view word_of(CrashClass kind) {
    return kWords[static_cast<std::size_t>(kind)];
}

CudaError cuda_error(std::int32_t number) {
    for (const CudaError& error : kErrors)
        if (error.number == number) return error;
    return {number, CrashClass::unknown, "unknown CUDA error"};
}

bool ends_context(std::int32_t error) {
    constexpr std::int32_t kFirst = 700;
    constexpr std::int32_t kTooManyResources = 701;
    constexpr std::int32_t kCooperativeTooLarge = 720;
    return error >= kFirst && error != kTooManyResources && error != kCooperativeTooLarge &&
           cuda_error(error).kind == CrashClass::kernel;
}

}  // namespace aoti_dbg
