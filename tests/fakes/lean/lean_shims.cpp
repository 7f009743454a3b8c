// The shim functions of a runtime without libtorch, and its tensors. It has only the functions that such a
// runtime needs: no layouts, no undefined tensors, no release number. With LEAN_WITHOUT_STORAGE it does not
// describe storages either. It must not link the driver. It uses one that is loaded.
#include <dlfcn.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "tests/fakes/lean/lean.h"

namespace {

constexpr int32_t kFloat32 = 6;
constexpr int32_t kCuda = 1;
constexpr int64_t kElementBytes = 4;

// No pointer: the processor faults on the address.
constexpr uint64_t kGarbage = 0x0BADC0DE0BADC0DEULL;

std::atomic<int64_t> g_tensors{0};

template <typename... Arguments>
int driver(const char* name, Arguments... arguments) {
    void* const library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    void* const found = library == nullptr ? nullptr : dlsym(library, name);
    if (found == nullptr) std::abort();
    const int result = reinterpret_cast<int (*)(Arguments...)>(found)(arguments...);
    dlclose(library);
    return result;
}

using DevicePointer = unsigned long long;

}  // namespace

struct AtenTensorOpaque {
    // Where an at::Tensor has the pointer to its contents.
    uint64_t garbage[4] = {kGarbage, kGarbage, kGarbage, kGarbage};
    char* storage = nullptr;
    int64_t storage_bytes = 0;
    int64_t offset = 0;
    std::vector<int64_t> sizes;
    std::vector<int64_t> strides;
    int32_t device_type = 0;
    bool owns = true;

    AtenTensorOpaque() { ++g_tensors; }
    ~AtenTensorOpaque() {
        --g_tensors;
        if (!owns) return;
        if (device_type == kCuda)
            driver("cuMemFree_v2", reinterpret_cast<DevicePointer>(storage));
        else
            std::free(storage);
    }
    AtenTensorOpaque(const AtenTensorOpaque&) = delete;
    AtenTensorOpaque& operator=(const AtenTensorOpaque&) = delete;

    [[nodiscard]] char* data() const { return storage + offset * kElementBytes; }
    [[nodiscard]] int64_t elements() const {
        int64_t count = 1;
        for (const int64_t size : sizes)
            count *= size;
        return count;
    }
    void allocate() {
        storage_bytes = elements() * kElementBytes;
        const auto bytes = static_cast<size_t>(storage_bytes);
        if (device_type != kCuda) {
            storage = static_cast<char*>(std::calloc(1, bytes));
            return;
        }
        DevicePointer address = 0;
        driver("cuMemAlloc_v2", &address, bytes);
        driver("cuMemsetD8_v2", address, static_cast<unsigned char>(0), bytes);
        storage = reinterpret_cast<char*>(address);
    }
};

namespace {

AtenTensorHandle make(int64_t dims, const int64_t* sizes, const int64_t* strides, int32_t device_type) {
    auto* tensor = new AtenTensorOpaque;
    tensor->sizes.assign(sizes, sizes + dims);
    tensor->strides.assign(strides, strides + dims);
    tensor->device_type = device_type;
    return tensor;
}

AtenTensorHandle make_like(AtenTensorHandle tensor) {
    AtenTensorHandle made = make(static_cast<int64_t>(tensor->sizes.size()), tensor->sizes.data(),
                                 tensor->strides.data(), tensor->device_type);
    made->allocate();
    return made;
}

void copy(AtenTensorHandle from, AtenTensorHandle to) {
    const auto bytes = static_cast<size_t>(from->elements() * kElementBytes);
    if (from->device_type == kCuda)
        driver("cuMemcpyDtoD_v2", reinterpret_cast<DevicePointer>(to->data()),
               reinterpret_cast<DevicePointer>(from->data()), bytes);
    else
        std::memcpy(to->data(), from->data(), bytes);
}

}  // namespace

extern "C" {

AtenTensorHandle lean_make(const float* values, int64_t rows, int64_t columns, int32_t device_type) {
    const int64_t sizes[] = {rows, columns};
    const int64_t strides[] = {columns, 1};
    AtenTensorHandle made = make(2, sizes, strides, device_type);
    made->allocate();
    const auto bytes = static_cast<size_t>(made->storage_bytes);
    if (device_type == kCuda)
        driver("cuMemcpyHtoD_v2", reinterpret_cast<DevicePointer>(made->storage),
               static_cast<const void*>(values), bytes);
    else
        std::memcpy(made->storage, values, bytes);
    return made;
}

void lean_read(AtenTensorHandle tensor, float* values) {
    const auto bytes = static_cast<size_t>(tensor->elements() * kElementBytes);
    if (tensor->device_type == kCuda)
        driver("cuMemcpyDtoH_v2", static_cast<void*>(values), reinterpret_cast<DevicePointer>(tensor->data()),
               bytes);
    else
        std::memcpy(values, tensor->data(), bytes);
}

int64_t lean_elements(AtenTensorHandle tensor) {
    return tensor->elements();
}

void lean_delete(AtenTensorHandle tensor) {
    delete tensor;
}

int64_t lean_tensors() {
    return g_tensors;
}

int32_t aoti_torch_dtype_float32() {
    return kFloat32;
}

int32_t aoti_torch_device_type_cpu() {
    return 0;
}

int32_t aoti_torch_device_type_cuda() {
    return kCuda;
}

int32_t aoti_torch_layout_strided() {
    return 0;
}

bool aoti_torch_grad_mode_is_enabled() {
    return false;
}

void aoti_torch_grad_mode_set_enabled(bool enabled) {
    if (enabled) std::abort();
}

AOTITorchError aoti_torch_get_data_ptr(AtenTensorHandle tensor, void** data) {
    *data = tensor->data();
    return 0;
}

#ifndef LEAN_WITHOUT_DIM
AOTITorchError aoti_torch_get_dim(AtenTensorHandle tensor, int64_t* dim) {
    *dim = static_cast<int64_t>(tensor->sizes.size());
    return 0;
}
#endif

AOTITorchError aoti_torch_get_sizes(AtenTensorHandle tensor, int64_t** sizes) {
    *sizes = tensor->sizes.data();
    return 0;
}

AOTITorchError aoti_torch_get_strides(AtenTensorHandle tensor, int64_t** strides) {
    *strides = tensor->strides.data();
    return 0;
}

AOTITorchError aoti_torch_get_dtype(AtenTensorHandle /*tensor*/, int32_t* dtype) {
    *dtype = kFloat32;
    return 0;
}

AOTITorchError aoti_torch_get_device_type(AtenTensorHandle tensor, int32_t* type) {
    *type = tensor->device_type;
    return 0;
}

#ifndef LEAN_WITHOUT_STORAGE
AOTITorchError aoti_torch_get_device_index(AtenTensorHandle tensor, int32_t* index) {
    *index = tensor->device_type == kCuda ? 0 : -1;
    return 0;
}

AOTITorchError aoti_torch_get_storage_offset(AtenTensorHandle tensor, int64_t* offset) {
    *offset = tensor->offset;
    return 0;
}

AOTITorchError aoti_torch_get_storage_size(AtenTensorHandle tensor, int64_t* bytes) {
    *bytes = tensor->storage_bytes;
    return 0;
}
#endif

AOTITorchError aoti_torch_empty_strided(int64_t dims, const int64_t* sizes, const int64_t* strides,
                                        int32_t /*dtype*/, int32_t device_type, int32_t /*device_index*/,
                                        AtenTensorHandle* made) {
    *made = make(dims, sizes, strides, device_type);
    (*made)->allocate();
    return 0;
}

AOTITorchError aoti_torch_create_tensor_from_blob_v2(void* data, int64_t dims, const int64_t* sizes,
                                                     const int64_t* strides, int64_t offset,
                                                     int32_t /*dtype*/, int32_t device_type,
                                                     int32_t /*device_index*/, AtenTensorHandle* made,
                                                     int32_t /*layout*/, const uint8_t* /*metadata*/,
                                                     int64_t /*metadata_size*/) {
    *made = make(dims, sizes, strides, device_type);
    (*made)->owns = false;
    (*made)->storage = static_cast<char*>(data);
    (*made)->offset = offset;
    (*made)->storage_bytes = (offset + (*made)->elements()) * kElementBytes;
    return 0;
}

AOTITorchError aoti_torch_delete_tensor_object(AtenTensorHandle tensor) {
    delete tensor;
    return 0;
}

AOTITorchError aoti_torch_create_cuda_stream_guard(void* /*stream*/, int32_t /*device*/,
                                                   CUDAStreamGuardHandle* guard) {
    *guard = reinterpret_cast<CUDAStreamGuardHandle>(new char);
    return 0;
}

AOTITorchError aoti_torch_delete_cuda_stream_guard(CUDAStreamGuardHandle guard) {
    delete reinterpret_cast<char*>(guard);
    return 0;
}

AOTITorchError aoti_torch_cpu_mm_out(AtenTensorHandle out, AtenTensorHandle self, AtenTensorHandle mat2) {
    const auto* a = reinterpret_cast<const float*>(self->data());
    const auto* b = reinterpret_cast<const float*>(mat2->data());
    auto* c = reinterpret_cast<float*>(out->data());
    const int64_t columns = mat2->sizes[1];
    const int64_t inner = mat2->sizes[0];
    for (int64_t i = 0; i < out->elements(); ++i) {
        c[i] = 0;
        for (int64_t k = 0; k < inner; ++k)
            c[i] += a[i / columns * inner + k] * b[k * columns + i % columns];
    }
    return 0;
}

AOTITorchError aoti_torch_cpu_int8_plain_mm(AtenTensorHandle self, AtenTensorHandle /*weight*/,
                                            AtenTensorHandle* made) {
    *made = make_like(self);
    copy(self, *made);
    return 0;
}

AOTITorchError aoti_torch_cuda_int8_plain_mm(AtenTensorHandle self, AtenTensorHandle weight,
                                             AtenTensorHandle* made) {
    return aoti_torch_cpu_int8_plain_mm(self, weight, made);
}

/// Copies its input instead of sorting it.
AOTITorchError aoti_torch_cuda_sort_stable(AtenTensorHandle self, int32_t* stable, int64_t dim,
                                           int32_t descending, AtenTensorHandle* values,
                                           AtenTensorHandle* indices) {
    if (*stable != 1 || dim != 1 || descending != 0) return 1;
    *values = make_like(self);
    *indices = make_like(self);
    copy(self, *values);
    return 0;
}

}  // extern "C"
