// The getters of the AOTI C shim that describe a tensor handle. They come from the libtorch that the model
// itself calls, because another runtime in the process may export the same names. The model's may be no
// libtorch at all, but a runtime with handles of its own. Nothing here computes, allocates tensors or changes
// a mode.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "shim/runtime/shim_table.hpp"
#include "stats_kernels/tensor_view.hpp"

namespace aoti_dbg {

struct LoadedObject;

/// This is AtenTensorHandle.
using TensorHandle = const void*;

struct ShimApi {
    using Error = std::int32_t;
    template <typename Value>
    using Getter = Error (*)(TensorHandle, Value*);

    Getter<void*> data_ptr = nullptr;
    Getter<const std::int64_t*> sizes = nullptr;
    Getter<const std::int64_t*> strides = nullptr;
    Getter<std::int64_t> dim = nullptr;
    Getter<std::int32_t> dtype = nullptr;
    Getter<std::int32_t> device_type = nullptr;
    // Null if the runtime has no such function. Old releases lack the last two.
    Getter<std::int64_t> storage_offset = nullptr;
    Getter<std::int64_t> storage_size = nullptr;  // bytes
    Getter<std::int32_t> device_index = nullptr;
    Getter<std::int32_t> layout = nullptr;
    Getter<bool> is_defined = nullptr;
    /// What the handle of an undefined tensor points to, in a libtorch without is_defined. Else null.
    const void* undefined = nullptr;
    /// Whether handles are addresses of an at::Tensor of a libtorch without get_layout.
    bool has_type_names = false;
    /// Finds the stream on which ops of the calling thread work. Device -1 is the current device.
    using CurrentStream = Error (*)(std::int32_t device, void** stream);
    CurrentStream current_stream = nullptr;  // null without CUDA
    // These are at::native::is_conj and is_neg, because the C shim has no getter for these bits. They are
    // null if libtorch, or its replacement, does not export them.
    bool (*is_conjugate)(TensorHandle) = nullptr;
    bool (*is_negative)(TensorHandle) = nullptr;
    std::int32_t (*most_threads)() = nullptr;  // omp_get_max_threads; null without OpenMP
    std::int32_t strided = 0;                  // this libtorch's codes
    std::int32_t cpu = 0;
    std::int32_t cuda = 1;
    std::array<std::optional<std::int32_t>, kDTypes> dtype_codes;

    [[nodiscard]] std::optional<DType> dtype_of(std::int32_t code) const;
    /// Whether the handle has a tensor. Other getters fail for one that has none, and libtorch logs that.
    [[nodiscard]] bool has_tensor(TensorHandle handle) const {
        bool has = true;
        if (is_defined != nullptr) return is_defined(handle, &has) == 0 && has;
        return undefined == nullptr || *static_cast<const void* const*>(handle) != undefined;
    }
    /// Whether strides and storage are known. Their getters fail for an opaque tensor (a packed weight), and
    /// libtorch logs that. Returns nothing if the layout is unknown.
    [[nodiscard]] std::optional<bool> is_strided(TensorHandle handle) const;
    [[nodiscard]] MathBits math_bits(TensorHandle handle) const {
        return {is_conjugate != nullptr && is_conjugate(handle),
                is_negative != nullptr && is_negative(handle)};
    }
};

/// Returns a shim function that the model imports, resolved through its slots before we bind them to stubs:
/// preferably one that describes tensors. Returns null if there is none.
const void* shim_function_of(const LoadedObject& model);

/// `shim_function` is any shim function that the model calls. Returns nothing if a required getter is
/// missing.
std::optional<ShimApi> find_shim_api(const void* shim_function);

/// Returns null if the model does not deal with streams, as models without CUDA. PyTorch's CUDA functions
/// have a library of their own. Call it before the slots of the model are bound.
ShimApi::CurrentStream find_current_stream(const LoadedObject& model);

/// The libtorch that a model calls, as the libtorch describes itself.
struct TorchLibrary {
    std::string path;
    std::string version;  // for example "2.11.0"
    TorchRelease release = 0;
};
/// All are empty if the libtorch has no version getter, as before release 2.9.
TorchLibrary find_torch_library(const void* shim_function);

}  // namespace aoti_dbg
