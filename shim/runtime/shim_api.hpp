// The getters of the AOTI C shim that tell what a tensor handle stands for, found in the libtorch that the
// model itself calls: another runtime in the process may export the same names. Nothing in here computes,
// allocates tensors or changes a mode.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "stats_kernels/tensor_view.hpp"

namespace aoti_dbg {

struct LoadedObject;

/// AtenTensorHandle.
using TensorHandle = const void*;

struct ShimApi {
    using Error = std::int32_t;
    template <typename Value>
    using Getter = Error (*)(TensorHandle, Value*);

    Getter<void*> data_ptr = nullptr;
    Getter<const std::int64_t*> sizes = nullptr;
    Getter<const std::int64_t*> strides = nullptr;
    Getter<std::int64_t> dim = nullptr;
    Getter<std::int64_t> storage_offset = nullptr;
    Getter<std::int64_t> storage_size = nullptr;  // bytes
    Getter<std::int32_t> dtype = nullptr;
    Getter<std::int32_t> device_type = nullptr;
    Getter<std::int32_t> device_index = nullptr;
    Getter<std::int32_t> layout = nullptr;  // null in old releases
    Getter<bool> is_defined = nullptr;      // likewise
    // at::native::is_conj and is_neg: the C shim has no getter for these bits. Null where libtorch, or what
    // takes its place, does not export them.
    bool (*is_conjugate)(TensorHandle) = nullptr;
    bool (*is_negative)(TensorHandle) = nullptr;
    std::int32_t (*most_threads)() = nullptr;  // omp_get_max_threads; null without OpenMP
    std::int32_t strided = 0;                  // codes, as this libtorch has them
    std::int32_t cpu = 0;
    std::int32_t cuda = 1;
    std::array<std::optional<std::int32_t>, kDTypes> dtype_codes;

    [[nodiscard]] std::optional<DType> dtype_of(std::int32_t code) const;
    [[nodiscard]] MathBits math_bits(TensorHandle handle) const {
        return {is_conjugate != nullptr && is_conjugate(handle),
                is_negative != nullptr && is_negative(handle)};
    }
};

/// A function of the shim that the model imports, as its slots lead to it before they are bound; null where
/// there is none.
const void* shim_function_of(const LoadedObject& model);

/// `shim_function`: any function of the shim that the model calls. Nothing where a getter is missing.
std::optional<ShimApi> find_shim_api(const void* shim_function);

/// The libtorch that a model calls, as it tells it itself.
struct TorchLibrary {
    std::string path;
    std::string version;  // "2.11.0"
};
/// Both empty where it does not tell, as releases before 2.9.
TorchLibrary find_torch_library(const void* shim_function);

}  // namespace aoti_dbg
