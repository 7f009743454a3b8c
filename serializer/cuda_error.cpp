// See cuda_error.hpp.
#include "serializer/cuda_error.hpp"

#include <algorithm>
#include <array>
#include <iterator>

namespace aoti_dbg {
namespace {

constexpr CudaError kErrors[] = {
    {1, CrashClass::host, "invalid argument"},
    {2, CrashClass::oom, "out of device memory"},
    {3, CrashClass::driver, "driver not initialised"},
    {4, CrashClass::driver, "driver is shutting down"},
    {34, CrashClass::driver, "stub of the driver's library, which is for linking only"},
    {36, CrashClass::driver, "call that needs a newer driver"},
    {46, CrashClass::driver, "device busy or unavailable"},
    {100, CrashClass::driver, "no device"},
    {101, CrashClass::driver, "invalid device"},
    {200, CrashClass::driver, "invalid kernel image"},
    {201, CrashClass::host, "invalid context"},
    {209, CrashClass::driver, "no kernel image for this device"},
    {214, CrashClass::hardware, "uncorrectable ECC error"},
    {218, CrashClass::driver, "PTX that the driver cannot compile"},
    {220, CrashClass::hardware, "uncorrectable NVLink error"},
    {221, CrashClass::driver, "library of the PTX compiler not found"},
    {222, CrashClass::driver, "PTX of a newer version than the driver's"},
    {226, CrashClass::hardware, "error that the GPU has contained"},
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
    {721, CrashClass::kernel, "tensor memory that a kernel did not give back"},
    {800, CrashClass::driver, "operation that is not permitted"},
    {801, CrashClass::driver, "operation that is not supported"},
    {802, CrashClass::driver, "system not ready"},
    {803, CrashClass::driver, "driver does not match the libraries"},
    {804, CrashClass::driver, "device that the forward compatibility libraries do not support"},
    {805, CrashClass::driver, "MPS client that could not connect"},
    {806, CrashClass::driver, "MPS server that does not answer"},
    {807, CrashClass::driver, "MPS server that is not ready"},
    {810, CrashClass::driver, "MPS server that ended this client"},
    {900, CrashClass::host, "operation that a capture does not allow"},
    {901, CrashClass::host, "capture that an earlier error has ended"},
    {906, CrashClass::host, "capture that waits on a stream outside"},
    {908, CrashClass::host, "capture of another thread"},
    {999, CrashClass::unknown, "unknown error of the driver"},
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
    constexpr std::int32_t kEnding[] = {214, 220, 226, 700, 702, 710, 714, 715, 716, 717, 718, 719, 721};
    return std::find(std::begin(kEnding), std::end(kEnding), error) != std::end(kEnding);
}

}  // namespace aoti_dbg
