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
    {3, CrashClass::driver, "driver not initialized"},
    {4, CrashClass::driver, "driver is shutting down"},
    {34, CrashClass::driver, "stub driver library (for linking only)"},
    {36, CrashClass::driver, "call requires a newer driver"},
    {46, CrashClass::driver, "device busy or unavailable"},
    {100, CrashClass::driver, "no device"},
    {101, CrashClass::driver, "invalid device"},
    {200, CrashClass::driver, "invalid kernel image"},
    {201, CrashClass::host, "invalid context"},
    {209, CrashClass::driver, "no kernel image for this device"},
    {214, CrashClass::hardware, "uncorrectable ECC error"},
    {218, CrashClass::driver, "invalid PTX"},
    {220, CrashClass::hardware, "uncorrectable NVLink error"},
    {221, CrashClass::driver, "PTX compiler library not found"},
    {222, CrashClass::driver, "unsupported PTX version (newer than the driver)"},
    {226, CrashClass::hardware, "contained GPU error"},
    {400, CrashClass::host, "invalid handle"},
    {500, CrashClass::driver, "symbol not found"},
    {700, CrashClass::kernel, "illegal memory access"},
    {701, CrashClass::kernel, "too many resources requested for a launch"},
    {702, CrashClass::hang, "kernel launch timed out"},
    {709, CrashClass::host, "context was destroyed"},
    {710, CrashClass::kernel, "device-side assertion"},
    {714, CrashClass::kernel, "hardware stack error"},
    {715, CrashClass::kernel, "illegal instruction"},
    {716, CrashClass::kernel, "misaligned address"},
    {717, CrashClass::kernel, "invalid address space"},
    {718, CrashClass::kernel, "invalid program counter"},
    {719, CrashClass::kernel, "unspecified launch failure"},
    {720, CrashClass::kernel, "cooperative launch too large"},
    {721, CrashClass::kernel, "tensor memory not freed by a kernel"},
    {800, CrashClass::driver, "operation not permitted"},
    {801, CrashClass::driver, "operation not supported"},
    {802, CrashClass::driver, "system not ready"},
    {803, CrashClass::driver, "driver and library versions do not match"},
    {804, CrashClass::driver, "forward compatibility not supported on this device"},
    {805, CrashClass::driver, "MPS connection failed"},
    {806, CrashClass::driver, "MPS server does not respond"},
    {807, CrashClass::driver, "MPS server not ready"},
    {810, CrashClass::driver, "MPS client terminated by the server"},
    {900, CrashClass::host, "operation not permitted during stream capture"},
    {901, CrashClass::host, "stream capture invalidated by an earlier error"},
    {906, CrashClass::host, "stream capture depends on the legacy stream"},
    {908, CrashClass::host, "stream capture of another thread"},
    {999, CrashClass::unknown, "unknown driver error"},
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
