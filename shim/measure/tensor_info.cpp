#include "shim/measure/tensor_info.hpp"

namespace aoti_dbg {
namespace {

/// Whether the elements lie in a storage of so many bytes. Strides are not negative in torch.
bool lies_in_storage(const TensorInfo& info, std::int64_t offset, std::int64_t bytes) {
    if (offset < 0) return false;
    __extension__ using Wide = __int128;
    Wide last = offset;
    for (std::size_t i = 0; i < info.sizes.size(); ++i) {
        if (info.sizes[i] == 0) return true;
        if (info.sizes[i] < 0 || info.strides[i] < 0) return false;
        last += static_cast<Wide>(info.sizes[i] - 1) * info.strides[i];
    }
    return (last + 1) * element_size(*info.dtype) <= bytes;
}

const char* why_not(const ShimApi& api, TensorHandle handle, TensorInfo& info) {
    if (!info.on_cpu) return "it does not lie in host memory";
    if (!info.dtype) return "its dtype is not known";
    std::int64_t offset = 0;
    std::int64_t bytes = 0;
    void* data = nullptr;
    if (api.storage_offset(handle, &offset) != 0 || api.storage_size(handle, &bytes) != 0) {
        return "its storage is not known";
    }
    if (!lies_in_storage(info, offset, bytes)) return "it reaches beyond its storage";
    if (element_count(info.sizes) == 0) return nullptr;
    if (api.data_ptr(handle, &data) != 0 || data == nullptr) return "it has no memory";
    info.data = data;
    return nullptr;
}

}  // namespace

bool TensorInfo::is_contiguous() const {
    if (!is_strided) return false;
    if (element_count(sizes) == 0) return true;
    std::int64_t expected = 1;
    for (std::size_t i = sizes.size(); i-- > 0;) {
        if (sizes[i] == 1) continue;
        if (strides[i] != expected) return false;
        expected *= sizes[i];
    }
    return true;
}

bool read_tensor(const ShimApi& api, TensorHandle handle, TensorInfo& info) {
    info = {};
    bool defined = true;
    if (api.is_defined != nullptr && (api.is_defined(handle, &defined) != 0 || !defined)) return false;
    std::int64_t rank = 0;
    const std::int64_t* sizes = nullptr;
    if (api.dim(handle, &rank) != 0 || rank < 0 || rank > kMaxRank) return false;
    if (api.sizes(handle, &sizes) != 0 || api.dtype(handle, &info.dtype_code) != 0) return false;
    if (api.device_type(handle, &info.device_type) != 0) return false;
    if (api.device_index(handle, &info.device_index) != 0) return false;
    info.sizes.assign(sizes, sizes + rank);
    info.dtype = api.dtype_of(info.dtype_code);
    info.on_cpu = info.device_type == api.cpu;
    info.on_cuda = info.device_type == api.cuda;

    // Strides and storage of an opaque tensor (a packed weight) are errors, which libtorch would log.
    std::int32_t layout = api.strided;
    if (api.layout != nullptr && api.layout(handle, &layout) != 0) return false;
    info.is_strided = layout == api.strided;
    if (!info.is_strided) {
        info.unmeasured = "its layout is not strided";
        return true;
    }
    const std::int64_t* strides = nullptr;
    if (api.strides(handle, &strides) != 0) return false;
    info.strides.assign(strides, strides + rank);
    info.unmeasured = why_not(api, handle, info);
    return true;
}

}  // namespace aoti_dbg
