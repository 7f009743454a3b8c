// Tensors of the fake libtorch, and the shim functions that query or create them.
#include "tests/fakes/torch/fake_tensor.hpp"

#include <cstddef>
#include <utility>

namespace fake_torch {
namespace {

int64_t product(int64_t dims, const int64_t* sizes) {
    int64_t elements = 1;
    for (int64_t i = 0; i < dims; ++i)
        elements *= sizes[i];
    return elements;
}

}  // namespace

int64_t element_bytes(int32_t dtype) {
    switch (dtype) {
        case kInt64:
            return 8;
        case kBool:
            return 1;
        default:
            return 4;
    }
}

int64_t extent(int64_t dims, const int64_t* sizes, const int64_t* strides) {
    int64_t last = 0;
    for (int64_t i = 0; i < dims; ++i) {
        if (sizes[i] == 0) return 0;
        last += (sizes[i] - 1) * strides[i];
    }
    return last + 1;
}

AtenTensorHandle make(std::shared_ptr<Storage> storage, int64_t dims, const int64_t* sizes,
                      const int64_t* strides, int64_t offset, int32_t dtype, int32_t device_type,
                      int32_t device_index) {
    auto* tensor = new AtenTensorOpaque;
    auto* memory = static_cast<std::byte*>(storage->memory.get());
    tensor->data = reinterpret_cast<float*>(memory + offset * element_bytes(dtype));
    tensor->elements = product(dims, sizes);
    tensor->offset = offset;
    tensor->sizes.assign(sizes, sizes + dims);
    tensor->strides.assign(strides, strides + dims);
    tensor->dtype = dtype;
    tensor->device_type = device_type;
    tensor->device_index = device_index;
    tensor->storage = std::move(storage);
    return tensor;
}

std::shared_ptr<Storage> allocate_on_host(int64_t bytes) {
    auto memory = std::make_shared<std::vector<float>>(static_cast<size_t>(bytes + 3) / 4);
    return std::make_shared<Storage>(Storage{std::shared_ptr<void>(memory, memory->data()), bytes});
}

}  // namespace fake_torch

using namespace fake_torch;

extern "C" {

int64_t fake_torch_elements(AtenTensorHandle tensor) {
    return tensor->elements;
}

int32_t aoti_torch_dtype_float32() {
    return kFloat32;
}

int32_t aoti_torch_dtype_int64() {
    return kInt64;
}

int32_t aoti_torch_dtype_bool() {
    return kBool;
}

int32_t aoti_torch_device_type_cpu() {
    return kCpu;
}

int32_t aoti_torch_device_type_cuda() {
    return kCuda;
}

AOTITorchError aoti_torch_get_data_ptr(AtenTensorHandle tensor, void** data) {
    *data = tensor->data;
    return 0;
}

AOTITorchError aoti_torch_get_dim(AtenTensorHandle tensor, int64_t* dim) {
    *dim = static_cast<int64_t>(tensor->sizes.size());
    return 0;
}

AOTITorchError aoti_torch_get_numel(AtenTensorHandle tensor, int64_t* elements) {
    *elements = tensor->elements;
    return 0;
}

AOTITorchError aoti_torch_get_sizes(AtenTensorHandle tensor, int64_t** sizes) {
    *sizes = tensor->sizes.data();
    return 0;
}

AOTITorchError aoti_torch_get_strides(AtenTensorHandle tensor, int64_t** strides) {
    *strides = tensor->strides.data();
    return 0;
}

AOTITorchError aoti_torch_get_dtype(AtenTensorHandle tensor, int32_t* dtype) {
    *dtype = tensor->dtype;
    return 0;
}

AOTITorchError aoti_torch_get_device_type(AtenTensorHandle tensor, int32_t* type) {
    *type = tensor->device_type;
    return 0;
}

AOTITorchError aoti_torch_get_device_index(AtenTensorHandle tensor, int32_t* index) {
    *index = tensor->device_index;
    return 0;
}

AOTITorchError aoti_torch_get_storage_offset(AtenTensorHandle tensor, int64_t* offset) {
    *offset = tensor->offset;
    return 0;
}

AOTITorchError aoti_torch_get_storage_size(AtenTensorHandle tensor, int64_t* bytes) {
    *bytes = tensor->storage->bytes;
    return 0;
}

AOTITorchError aoti_torch_create_tensor_from_blob_v2(void* data, int64_t dims, const int64_t* sizes,
                                                     const int64_t* strides, int64_t offset, int32_t dtype,
                                                     int32_t device_type, int32_t device_index,
                                                     AtenTensorHandle* made, int32_t /*layout*/,
                                                     const uint8_t* /*metadata*/, int64_t /*metadata_size*/) {
    // The memory has another owner and is not freed here.
    auto storage = std::make_shared<Storage>();
    storage->memory = std::shared_ptr<void>(std::shared_ptr<void>(), data);
    storage->bytes = (offset + extent(dims, sizes, strides)) * element_bytes(dtype);
    *made = make(std::move(storage), dims, sizes, strides, offset, dtype, device_type,
                 device_type == kCuda ? device_index : -1);
    return 0;
}

AOTITorchError aoti_torch__reinterpret_tensor(AtenTensorHandle self, int64_t dims, const int64_t* sizes,
                                              const int64_t* strides, int64_t offset,
                                              AtenTensorHandle* made) {
    *made = make(self->storage, dims, sizes, strides, self->offset + offset, self->dtype, self->device_type,
                 self->device_index);
    return 0;
}

AOTITorchError aoti_torch_delete_tensor_object(AtenTensorHandle tensor) {
    delete tensor;
    return 0;
}

}  // extern "C"
