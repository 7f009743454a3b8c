// A libtorch beside the lean runtime: functions that the runtime lacks. They read a handle as an at::Tensor,
// whose first word points to its contents. No function here may get a handle of the runtime.
#include <cstdint>

namespace at {

struct TensorImpl {
    int32_t layout;
    bool is_set;
};

struct Tensor {
    const TensorImpl* impl;
};

namespace native {
bool is_conj(const Tensor& tensor) {
    return tensor.impl->is_set;
}
bool is_neg(const Tensor& tensor) {
    return tensor.impl->is_set;
}
}  // namespace native

}  // namespace at

extern "C" {

int32_t aoti_torch_get_layout(const at::Tensor* tensor, int32_t* layout) {
    *layout = tensor->impl->layout;
    return 0;
}

int32_t aoti_torch_is_defined(const at::Tensor* tensor, bool* is_defined) {
    *is_defined = tensor->impl->is_set;
    return 0;
}

int32_t aoti_torch_get_dim(const at::Tensor* tensor, int64_t* dim) {
    *dim = tensor->impl->layout;
    return 0;
}

int32_t aoti_torch_get_storage_offset(const at::Tensor* tensor, int64_t* offset) {
    *offset = tensor->impl->layout;
    return 0;
}

int32_t aoti_torch_get_storage_size(const at::Tensor* tensor, int64_t* bytes) {
    *bytes = tensor->impl->layout;
    return 0;
}

int32_t aoti_torch_get_device_index(const at::Tensor* tensor, int32_t* index) {
    *index = tensor->impl->layout;
    return 0;
}

/// 2.7.1, which no other fake claims to be.
uint64_t aoti_torch_abi_version() {
    return 0x0207010000000000ULL;
}

}  // extern "C"
