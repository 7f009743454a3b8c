// What a tensor handle stands for, by value, and whether it can be measured here. Reads nothing of the
// tensor's elements.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "shim/measure/shim_api.hpp"
#include "stats_kernels/tensor_view.hpp"

namespace aoti_dbg {

struct TensorInfo {
    const void* data = nullptr;
    std::optional<DType> dtype;
    std::int32_t dtype_code = -1;
    std::int32_t device_type = -1;
    std::int32_t device_index = -1;
    bool on_cpu = false;
    bool on_cuda = false;
    bool is_strided = true;
    std::vector<std::int64_t> sizes;
    std::vector<std::int64_t> strides;  // empty where the layout has none
    const char* unmeasured = nullptr;   // why it cannot be measured

    [[nodiscard]] TensorView view() const { return {data, *dtype, sizes, strides}; }
    /// As torch's is_contiguous().
    [[nodiscard]] bool is_contiguous() const;
};

/// False where there is no tensor behind it. `handle` is not null.
bool read_tensor(const ShimApi& api, TensorHandle handle, TensorInfo& info);

}  // namespace aoti_dbg
