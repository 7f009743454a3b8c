// Where the tensors of a launched Triton kernel lay: pointers from the parameters that the kernel got,
// lengths from the wrapper source. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/wrapper_info.hpp"

namespace aoti_dbg {

struct TensorMemory {
    std::string label;
    std::string parameter;  // the kernel's
    std::uint64_t begin = 0;
    std::uint64_t bytes = 0;  // up to its last element; 0: the source does not say it for certain
};

/// `parameters` are the bytes that the kernel at call site `site` got. Symbolic sizes are found where a
/// number that the kernel gets depends on them. Empty where the bytes are not laid out as the source says.
std::vector<TensorMemory> launched_tensors(const WrapperInfo& info, std::uint32_t site,
                                           std::string_view parameters);

}  // namespace aoti_dbg
