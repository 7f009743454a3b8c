// Where the tensors of a launched Triton kernel lay: pointers from the parameters that the kernel got,
// lengths from the wrapper source. Pure.
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
    std::string parameter;  // the kernel's
    std::uint64_t begin = 0;
    std::uint64_t bytes = 0;  // up to its last element; 0: the source does not say it for certain
};

/// A launch of a Triton kernel at call site `site`. `parameters` are the bytes that the kernel got; nothing
/// is known where they are not laid out as the source says. `info` outlives it.
class KernelLaunch {
  public:
    KernelLaunch(const WrapperInfo& info, std::uint32_t site, std::string_view parameters);

    /// Those that a number which the kernel gets depends on.
    [[nodiscard]] Symbols symbols() const;
    [[nodiscard]] std::vector<TensorMemory> tensors() const;
    /// Of a scalar, one of the site's arguments, as the kernel got it; empty: not known.
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

/// Its tensors alone.
std::vector<TensorMemory> launched_tensors(const WrapperInfo& info, std::uint32_t site,
                                           std::string_view parameters);

}  // namespace aoti_dbg
