#include "shim/runtime/shim_api.hpp"

#include <dlfcn.h>

#include <cstring>
#include <string>
#include <string_view>
#include <typeinfo>

#include "shim/runtime/loaded_object.hpp"
#include "shim/runtime/real_dlsym.hpp"
#include "shim/runtime/slots.hpp"

namespace aoti_dbg {
namespace {

/// The library that describes a model's tensors, referenced by a handle of our own. Its dependencies or the
/// program may bring another libtorch, whose tensors differ. So only functions of one object are used.
class Library {
  public:
    explicit Library(const LoadedObject& object)
        : handle_(dlopen(object.is_program ? nullptr : object.path.c_str(), RTLD_LAZY | RTLD_NOLOAD)),
          owner_(object_at(look_up("aoti_torch_get_data_ptr"))) {}
    ~Library() {
        if (handle_ != nullptr) dlclose(handle_);
    }
    Library(const Library&) = delete;
    Library& operator=(const Library&) = delete;

    template <typename Function>
    bool find(const std::string& name, Function*& function) const {
        const void* const found = owner_ ? look_up(name) : nullptr;
        const bool is_own = found != nullptr && owner_->contains(reinterpret_cast<std::uintptr_t>(found));
        function = is_own ? reinterpret_cast<Function*>(const_cast<void*>(found)) : nullptr;
        return is_own;
    }

    /// Also searches what the library links to. Only for objects, and functions that get no tensor.
    template <typename Found>
    void find_anywhere(const std::string& name, Found*& found) const {
        found = reinterpret_cast<Found*>(const_cast<void*>(look_up(name)));
    }

    /// Returns the result of a getter without arguments.
    [[nodiscard]] std::optional<std::int32_t> code(const std::string& name) const {
        std::int32_t (*getter)() = nullptr;
        return find(name, getter) ? std::optional<std::int32_t>(getter()) : std::nullopt;
    }

    [[nodiscard]] std::string path() const { return owner_ ? owner_->path : std::string(); }

  private:
    [[nodiscard]] const void* look_up(const std::string& name) const {
        return handle_ == nullptr ? nullptr : real_dlsym(handle_, name.c_str());
    }

    void* handle_;
    std::optional<LoadedObject> owner_;  // has the getters
};

/// In some releases only PyTorch's stable interface has the newest dtypes.
std::optional<std::int32_t> dtype_code(const Library& library, DType dtype) {
    const std::string name = std::string("torch_dtype_") + dtype_name(dtype);
    const std::optional<std::int32_t> code = library.code("aoti_" + name);
    return code ? code : library.code(name);
}

/// Reads the result of aoti_torch_abi_version(). It has one byte per part, the highest byte first.
TorchLibrary describe(std::string path, std::uint64_t version) {
    const auto part = [version](unsigned shift) { return static_cast<unsigned>((version >> shift) & 0xffU); };
    const auto release = static_cast<TorchRelease>(100 * part(56) + part(48));
    const std::string text =
        std::to_string(part(56)) + "." + std::to_string(part(48)) + "." + std::to_string(part(40));
    return {std::move(path), text, release};
}

}  // namespace

std::optional<DType> ShimApi::dtype_of(std::int32_t code) const {
    for (std::uint32_t i = 0; i < kDTypes; ++i) {
        if (dtype_codes[i] == code) return static_cast<DType>(i);
    }
    return std::nullopt;
}

std::optional<bool> ShimApi::is_strided(TensorHandle handle) const {
    if (layout != nullptr) {
        std::int32_t code = strided;
        if (layout(handle, &code) != 0) return std::nullopt;
        return code == strided;
    }
    if (!has_type_names) return true;
    // An at::Tensor points to its c10::TensorImpl, which has virtual functions. The type is before the first.
    using VirtualTable = const std::type_info* const*;
    const VirtualTable* const object = *static_cast<const VirtualTable* const*>(handle);
    return std::strstr((*object)[-1]->name(), "OpaqueTensorImpl") == nullptr;
}

const void* shim_function_of(const LoadedObject& model) {
    constexpr std::string_view kAnyShimFunction = "aoti_torch_";
    const void* any = nullptr;
    const void* getter = nullptr;
    for_each_import(model, [&](const ImportSlot& import) {
        const std::string_view symbol = import.symbol;
        const bool is_getter = symbol == "aoti_torch_get_data_ptr";
        if (import.own_definition != 0 || (any != nullptr && !is_getter)) return;
        if (!symbol.starts_with(kAnyShimFunction) || is_stub(*import.address)) return;
        (is_getter ? getter : any) = real_behind(model, import);
    });
    return getter != nullptr ? getter : any;
}

std::optional<ShimApi> find_shim_api(const void* shim_function) {
    const std::optional<LoadedObject> object = object_at(shim_function);
    if (!object) return std::nullopt;
    const Library library(*object);
    ShimApi api;
    const bool is_complete = library.find("aoti_torch_get_data_ptr", api.data_ptr) &&
                             library.find("aoti_torch_get_sizes", api.sizes) &&
                             library.find("aoti_torch_get_strides", api.strides) &&
                             library.find("aoti_torch_get_dim", api.dim) &&
                             library.find("aoti_torch_get_dtype", api.dtype) &&
                             library.find("aoti_torch_get_device_type", api.device_type);
    if (!is_complete) return std::nullopt;
    library.find("aoti_torch_get_storage_offset", api.storage_offset);
    library.find("aoti_torch_get_storage_size", api.storage_size);
    library.find("aoti_torch_get_device_index", api.device_index);
    library.find("aoti_torch_get_layout", api.layout);
    library.find("aoti_torch_is_defined", api.is_defined);
    // A handle of libtorch is the address of an at::Tensor. These functions read one word of it without
    // calling PyTorch's dispatcher.
    library.find("_ZN2at6native7is_conjERKNS_6TensorE", api.is_conjugate);
    library.find("_ZN2at6native6is_negERKNS_6TensorE", api.is_negative);
    // An at::Tensor without a tensor points to this object of libc10.
    if (api.is_defined == nullptr && api.is_conjugate != nullptr)
        library.find_anywhere("_ZN3c1019UndefinedTensorImpl10_singletonE", api.undefined);
    api.has_type_names = api.layout == nullptr && api.is_conjugate != nullptr;
    // Search only what this libtorch links to, because a process can have several OpenMP runtimes.
    library.find_anywhere("omp_get_max_threads", api.most_threads);
    api.strided = library.code("aoti_torch_layout_strided").value_or(api.strided);
    api.cpu = library.code("aoti_torch_device_type_cpu").value_or(api.cpu);
    api.cuda = library.code("aoti_torch_device_type_cuda").value_or(api.cuda);
    for (std::uint32_t i = 0; i < kDTypes; ++i)
        api.dtype_codes[i] = dtype_code(library, static_cast<DType>(i));
    return api;
}

ShimApi::CurrentStream find_current_stream(const LoadedObject& model) {
    const void* guard = nullptr;
    for_each_import(model, [&](const ImportSlot& import) {
        const std::string_view symbol = import.symbol;
        const bool is_guard = symbol == "aoti_torch_create_cuda_stream_guard" ||
                              symbol == "aoti_torch_get_current_cuda_stream";  // of a C++ wrapper
        if (is_guard && import.own_definition == 0 && !is_stub(*import.address))
            guard = real_behind(model, import);
    });
    // PyTorch's CUDA functions have a library of their own, without the getters.
    const std::optional<LoadedObject> object = guard == nullptr ? std::nullopt : object_at(guard);
    if (!object) return nullptr;
    ShimApi::CurrentStream found = nullptr;
    Library(*object).find_anywhere("aoti_torch_get_current_cuda_stream", found);
    return object->contains(reinterpret_cast<std::uintptr_t>(found)) ? found : nullptr;
}

TorchLibrary find_torch_library(const void* shim_function) {
    const std::optional<LoadedObject> object = object_at(shim_function);
    if (!object) return {};
    const Library library(*object);
    std::uint64_t (*version)() = nullptr;
    if (!library.find("aoti_torch_abi_version", version)) return {};
    return describe(library.path(), version());
}

}  // namespace aoti_dbg
