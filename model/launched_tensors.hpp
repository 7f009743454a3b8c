// Locates the tensors of a launched Triton kernel: addresses from the kernel's parameters, lengths from the
// wrapper source. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/symbols.hpp"
#include "model/wrapper_info.hpp"

namespace aoti_dbg {

struct TensorMemory {
    std::string label;
    std::string parameter;  // of the kernel
    std::uint64_t begin = 0;
    std::uint64_t bytes = 0;  // up to its last element, 0 if the source is not clear
};

/// A launch of a Triton kernel at call site `site`. `parameters` are the bytes that the kernel received. If
/// their layout differs from the source, nothing is known. `info` must outlive the object.
class KernelLaunch {
  public:
    KernelLaunch(const WrapperInfo& info, std::uint32_t site, std::string_view parameters);

    /// Returns the symbols that follow from the kernel's integer parameters.
    [[nodiscard]] Symbols symbols() const;
    [[nodiscard]] std::vector<TensorMemory> tensors() const;
    /// Returns the value of a scalar argument of the site as the kernel received it, or empty if it is
    /// unknown.
    [[nodiscard]] std::string value_of(const Argument& argument) const;

  private:
    struct Value {
        const Argument* argument;
        std::string_view type;
        std::uint64_t bits;
    };
    const WrapperInfo& info_;
    std::uint32_t site_;
    std::vector<Value> passed_;
};

/// Returns only the tensors of such a launch.
std::vector<TensorMemory> launched_tensors(const WrapperInfo& info, std::uint32_t site,
                                           std::string_view parameters);

}  // namespace aoti_dbg
