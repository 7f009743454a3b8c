// Reads what a package contains besides code: prototypes of cpp_fused_* kernels, names of Triton kernels, and
// the ops behind the proxy executor's numbers. Reads the files beside the model's .so. Each file may be
// missing. Must accept any text without crashing, hanging or unbounded memory.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace aoti_dbg {

/// How a C function receives its arguments, as far as forwarding a call needs it.
struct Prototype {
    std::uint32_t integers = 0;  // passed in integer registers or, beyond six, on the stack
    std::uint32_t floats = 0;    // float and double, in vector registers or, beyond eight, on the stack
    /// Returns the words of stack arguments in the System V x86-64 convention.
    [[nodiscard]] std::uint32_t stack_words() const {
        return (integers > 6 ? integers - 6 : 0) + (floats > 8 ? floats - 8 : 0);
    }
    bool operator==(const Prototype&) const = default;
};

/// One `loadKernel("<...>/<cubin>", "<function>", ...)` of the wrapper source.
struct TritonKernel {
    std::string name;      // PyTorch's name of the kernel: triton_poi_fused_0, add_kernel_0
    std::string cubin;     // file name of its cubin without folder and extension, empty if embedded
    std::string function;  // name of the function in the cubin
};

struct PackageInfo {
    std::map<std::string, Prototype, std::less<>> cpp_kernels;
    std::vector<TritonKernel> triton_kernels;
    std::vector<std::string> proxy_ops;  // by extern node index, empty if the JSON does not name it
    bool has_wrapper_source = false;
    bool prints_names = false;  // contains PyTorch's own name printer, which no import reveals
};

/// Reads the files beside `so_path`. For `X.wrapper.so` these are X.wrapper.cpp, *.kernel.cpp, X.wrapper.json
/// or X.json.
PackageInfo read_package(const std::string& so_path);

/// These read a single text.
void read_cpp_prototypes(std::string_view source, PackageInfo& info);
void read_triton_kernels(std::string_view wrapper_source, PackageInfo& info);
void read_proxy_ops(std::string_view json, PackageInfo& info);

}  // namespace aoti_dbg
