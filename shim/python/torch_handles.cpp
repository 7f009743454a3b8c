#include "shim/python/torch_handles.hpp"

#include <dlfcn.h>

#include <string_view>

#include "shim/runtime/loaded_object.hpp"
#include "shim/runtime/real_dlsym.hpp"

namespace aoti_dbg::python {
namespace {

/// What is needed of PyTorch. Each is null if it is missing.
struct Torch {
    const void* any_shim = nullptr;
    const void* any_cuda_shim = nullptr;
    std::int32_t (*delete_handle)(const void*) = nullptr;
    Object* tensor_type = nullptr;
    Object* to_handle = nullptr;
    [[nodiscard]] bool is_complete() const {
        return any_shim != nullptr && delete_handle != nullptr && tensor_type != nullptr &&
               to_handle != nullptr;
    }
};

/// PyTorch's libraries are not in the global scope.
void* find_in(std::string_view library, const char* name) {
    for (const LoadedObject& object : loaded_objects()) {
        if (!std::string_view(object.path).ends_with(library)) continue;
        void* const handle = dlopen(object.path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
        void* const found = handle == nullptr ? nullptr : real_dlsym(handle, name);
        if (handle != nullptr) dlclose(handle);
        if (found != nullptr) return found;
    }
    return nullptr;
}

Object* member(const char* module_name, const char* name) {
    const Reference module(python::api()->PyImport_ImportModule(module_name));
    Object* const found = module ? python::api()->PyObject_GetAttrString(module.get(), name) : nullptr;
    if (found == nullptr) python::api()->PyErr_Clear();
    return found;
}

/// The references live as long as the interpreter.
const Torch& torch() {
    static const Torch known = [] {
        Torch found;
        found.any_shim = find_in("/libtorch_cpu.so", "aoti_torch_get_data_ptr");
        found.any_cuda_shim = find_in("/libtorch_cuda.so", "aoti_torch_get_current_cuda_stream");
        found.delete_handle = reinterpret_cast<decltype(found.delete_handle)>(
            find_in("/libtorch_cpu.so", "aoti_torch_delete_tensor_object"));
        found.tensor_type = member("torch", "Tensor");
        found.to_handle = member("torch._C._aoti", "unsafe_alloc_void_ptr_from_tensor");
        return found;
    }();
    return known;
}

PassedValue value_of(Object* object) {
    const Api& python = *python::api();
    PassedValue value;
    if (python.PyObject_IsInstance(object, torch().tensor_type) == 1) {
        const Reference capsule(python.PyObject_CallFunctionObjArgs(torch().to_handle, object, nullptr));
        value.tensor = capsule ? python.PyCapsule_GetPointer(capsule.get(), nullptr) : nullptr;
        if (value.tensor != nullptr) value.kind = PassedValue::Kind::tensor;
    } else if (python.PyObject_IsInstance(object, python.long_type) == 1) {
        value.kind = PassedValue::Kind::integer;
        value.integer = python.PyLong_AsLongLong(object);
    } else if (python.PyObject_IsInstance(object, python.float_type) == 1) {
        value.kind = PassedValue::Kind::real;
        value.real = python.PyFloat_AsDouble(object);
    }
    if (python.PyErr_Occurred() != nullptr) {
        python.PyErr_Clear();
        value.kind = PassedValue::Kind::other;
    }
    return value;
}

}  // namespace

std::optional<ShimApi> TorchHandles::api() {
    if (!torch().is_complete()) return std::nullopt;
    std::optional<ShimApi> found = find_shim_api(torch().any_shim);
    if (found)
        found->current_stream =
            reinterpret_cast<ShimApi::CurrentStream>(const_cast<void*>(torch().any_cuda_shim));
    return found;
}

TorchLibrary TorchHandles::library() {
    return torch().any_shim == nullptr ? TorchLibrary() : find_torch_library(torch().any_shim);
}

void TorchHandles::take(Object* sequence, PassedValues& to) {
    const Api& python = *python::api();
    const bool is_sequence = python.PyObject_IsInstance(sequence, python.tuple_type) == 1 ||
                             python.PyObject_IsInstance(sequence, python.list_type) == 1;
    const std::ptrdiff_t count = is_sequence ? python.PySequence_Size(sequence) : 0;
    for (std::ptrdiff_t i = 0; i < count; ++i) {
        const Reference element(python.PySequence_GetItem(sequence, i));
        to.values.push_back(element ? value_of(element.get()) : PassedValue());
    }
}

void TorchHandles::borrow(Object* capsules, PassedValues& to) {
    const Api& python = *python::api();
    const bool is_list = python.PyObject_IsInstance(capsules, python.list_type) == 1;
    const std::ptrdiff_t count = is_list ? python.PySequence_Size(capsules) : 0;
    for (std::ptrdiff_t i = 0; i < count; ++i) {
        const Reference element(python.PySequence_GetItem(capsules, i));
        PassedValue& value = to.values.emplace_back();
        if (!element || python.PyCapsule_IsValid(element.get(), nullptr) != 1) continue;
        value.kind = PassedValue::Kind::tensor;
        value.tensor = python.PyCapsule_GetPointer(element.get(), nullptr);
    }
}

void TorchHandles::release(PassedValues& of) {
    for (const PassedValue& value : of.values)
        if (value.tensor != nullptr) torch().delete_handle(value.tensor);
    of.values.clear();
}

}  // namespace aoti_dbg::python
