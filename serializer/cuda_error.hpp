// CUDA driver error numbers in words, and their usual cause. The numbers are those of CUresult in cuda.h,
// which never gives a number a new meaning.
#pragma once

#include <cstdint>
#include <string_view>

namespace aoti_dbg {

enum class CrashClass : std::uint8_t {
    kernel,    // an error in a kernel
    hardware,  // a device failure: ECC, NVLink
    driver,    // a driver failure or mismatch with the device or program
    oom,       // out of memory
    hang,      // no progress
    host,      // an error in the host program
    unknown,
};

/// Returns the word that report.json uses.
std::string_view word_of(CrashClass kind);

struct CudaError {
    std::int32_t number;
    CrashClass kind;
    std::string_view words;
};

/// Returns "unknown CUDA error" of class `unknown` for an unknown number.
CudaError cuda_error(std::int32_t number);

/// True if the context is unusable after this error.
bool ends_context(std::int32_t error);

}  // namespace aoti_dbg
