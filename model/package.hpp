// What a model's package says besides its code: prototypes of its cpp_fused_* kernels, the names under which
// it launches Triton kernels, the ops behind the proxy executor's numbers. Read from the files that lie
// beside the model's .so; each may be missing. Must take any text: no crash, no hang, no unbounded memory.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace aoti_dbg {

/// How a C function takes its arguments, as far as it concerns who forwards them.
struct Prototype {
    std::uint32_t integers = 0;  // arguments in integer registers or, beyond six, on the stack
    std::uint32_t floats = 0;    // float and double arguments: vector registers or, beyond eight, the stack
    /// Words of stack arguments under the System V x86-64 convention.
    [[nodiscard]] std::uint32_t stack_words() const {
        return (integers > 6 ? integers - 6 : 0) + (floats > 8 ? floats - 8 : 0);
    }
    bool operator==(const Prototype&) const = default;
};

/// One `loadKernel("<...>/<cubin>", "<function>", ...)` of the wrapper source.
struct TritonKernel {
    std::string name;      // PyTorch's name of the kernel: triton_poi_fused_0, add_kernel_0
    std::string cubin;     // file name of its cubin without folder and ending; empty when embedded
    std::string function;  // the function's name in the cubin
};

struct PackageInfo {
    std::map<std::string, Prototype, std::less<>> cpp_kernels;
    std::vector<TritonKernel> triton_kernels;
    std::vector<std::string> proxy_ops;  // by extern node index; empty string where the JSON does not say
    bool has_wrapper_source = false;
    bool prints_names =
        false;  // PyTorch's own printer for names is in it; it imports nothing that would tell
};

/// Reads what lies beside `so_path` (`X.wrapper.so`: X.wrapper.cpp, *.kernel.cpp, X.wrapper.json or X.json
/// ...).
PackageInfo read_package(const std::string& so_path);

/// The parts, for texts that are at hand.
void read_cpp_prototypes(std::string_view source, PackageInfo& info);
void read_triton_kernels(std::string_view wrapper_source, PackageInfo& info);
void read_proxy_ops(std::string_view json, PackageInfo& info);

}  // namespace aoti_dbg
