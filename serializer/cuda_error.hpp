// What the numbers mean that the CUDA driver returns: in words, and whose fault that commonly is. The numbers
// are those of CUresult in cuda.h, where one never gets another meaning.
#pragma once

#include <cstdint>
#include <string_view>

namespace aoti_dbg {

enum class CrashClass : std::uint8_t {
    kernel,    // what a kernel did
    hardware,  // the device itself: ECC, NVLink
    driver,    // it, or that it does not fit to device or program
    oom,       // no memory
    hang,      // no end
    host,      // what the program did on the processor
    unknown,
};

/// As report.json has it.
std::string_view word_of(CrashClass kind);

struct CudaError {
    std::int32_t number;
    CrashClass kind;
    std::string_view words;
};

/// "unknown CUDA error", of class `unknown`, for a number that is not known.
CudaError cuda_error(std::int32_t number);

/// Whether nothing works in its context any more after this.
bool ends_context(std::int32_t error);

}  // namespace aoti_dbg
