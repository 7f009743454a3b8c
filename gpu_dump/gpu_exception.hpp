// The driver's numbers for what can go wrong on a GPU, in words.
#pragma once

#include <cstdint>
#include <string>

namespace aoti_dbg::gpu {

enum class Blame {
    kernel,    // what the kernel did
    hardware,  // the machine, not the program
    driver,    // driver and program do not fit
    unknown,
};

struct ExceptionInfo {
    std::uint32_t code;
    const char* name;     // "illegal address"
    const char* meaning;  // what happened, as the end of a sentence
    Blame blame;
};

inline constexpr std::uint32_t kNoException = 0;

/// Of a number that is not known too.
const ExceptionInfo& exception_info(std::uint32_t code);

/// "illegal address (14)"
std::string exception_name(std::uint32_t code);

}  // namespace aoti_dbg::gpu
