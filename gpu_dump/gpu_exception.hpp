// The driver's GPU exception numbers, in words.
#pragma once

#include <cstdint>
#include <string>

namespace aoti_dbg::gpu {

enum class Blame {
    kernel,    // an error in the kernel
    hardware,  // a failure of the machine, not of the program
    driver,    // driver and program do not match
    unknown,
};

struct ExceptionInfo {
    std::uint32_t code;
    const char* name;     // "illegal address"
    const char* meaning;  // what happened, as the end of a sentence
    Blame blame;
};

inline constexpr std::uint32_t kNoException = 0;

/// Also accepts unknown numbers.
const ExceptionInfo& exception_info(std::uint32_t code);

/// "illegal address (14)"
std::string exception_name(std::uint32_t code);

}  // namespace aoti_dbg::gpu
