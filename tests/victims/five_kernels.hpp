// Five empty kernels with different names, kernel_0 to kernel_4, for victims that launch them in turn.
#pragma once

#include <array>
#include <string>

#include "tests/victims/driver_user.hpp"

namespace victim {

constexpr int kNames = 5;
constexpr char kFiveKernels[] =
    "AOTI_DBG_FAKE_MODULE\n"
    "kernel kernel_0 nop\n"
    "kernel kernel_1 nop\n"
    "kernel kernel_2 nop\n"
    "kernel kernel_3 nop\n"
    "kernel kernel_4 nop\n";

inline std::string five_kernels_name(std::size_t i) {
    return "kernel_" + std::to_string(i);
}

/// Loads them in the current context.
inline std::array<CUfunction, kNames> load_five_kernels() {
    std::array<CUfunction, kNames> kernels{};
    CUmodule module = nullptr;
    must(cuModuleLoadData(&module, kFiveKernels), "cuModuleLoadData");
    for (std::size_t i = 0; i < kernels.size(); ++i)
        must(cuModuleGetFunction(&kernels[i], module, five_kernels_name(i).c_str()), "cuModuleGetFunction");
    return kernels;
}

/// Loads them as kernels of a library, which run in the context of the stream.
inline std::array<CUfunction, kNames> load_five_library_kernels() {
    std::array<CUfunction, kNames> kernels{};
    CUlibrary library = nullptr;
    must(cuLibraryLoadData(&library, kFiveKernels, nullptr, nullptr, 0, nullptr, nullptr, 0),
         "cuLibraryLoadData");
    for (std::size_t i = 0; i < kernels.size(); ++i) {
        CUkernel kernel = nullptr;
        must(cuLibraryGetKernel(&kernel, library, five_kernels_name(i).c_str()), "cuLibraryGetKernel");
        kernels[i] = reinterpret_cast<CUfunction>(kernel);
    }
    return kernels;
}

}  // namespace victim
