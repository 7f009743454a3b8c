#include "shim/check/checked_pointers.hpp"

#include <algorithm>

#include "shim/runtime/driver_api.hpp"

namespace aoti_dbg {
namespace {

template <typename Value>
std::optional<Value> asked(const DriverApi& api, CUpointer_attribute attribute, std::uint64_t address) {
    Value value{};
    return api.cuPointerGetAttribute(&value, attribute, address) == CUDA_SUCCESS ? std::optional(value)
                                                                                 : std::nullopt;
}

/// True if kernels may access any memory of the process, or if that is unknown.
bool reaches_host(const DriverApi& api, CUdevice device) {
    int reaches = 1;
    const CUresult result =
        api.cuDeviceGetAttribute(&reaches, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS, device);
    return result != CUDA_SUCCESS || reaches != 0;
}

PointerFacts facts_of(const DriverApi& api, std::uint64_t address, CUdevice device) {
    PointerFacts facts;
    facts.kernel_device = device;
    unsigned type = 0;
    const CUresult result = api.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address);
    facts.is_known = result == CUDA_SUCCESS;
    // Any other error belongs to the context, not to the pointer.
    facts.may_reach_host = result != CUDA_ERROR_INVALID_VALUE || reaches_host(api, device);
    if (!facts.is_known || type != CU_MEMORYTYPE_DEVICE) return facts;
    const bool is_managed = asked<unsigned>(api, CU_POINTER_ATTRIBUTE_IS_MANAGED, address).value_or(1) != 0;
    if (!is_managed) facts.device = asked<int>(api, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address);
    return facts;
}

}  // namespace

int current_device() {
    const DriverApi* const api = driver_api();
    CUdevice device = kNoDevice;
    return api != nullptr && api->cuCtxGetDevice(&device) == CUDA_SUCCESS ? device : kNoDevice;
}

void CheckedPointers::find_right_ones(std::uint16_t model, const ModelChecks& checks) {
    std::vector<std::uint64_t>& right = right_ones_[model];
    if (right.size() < checks.pointers()) right.resize(checks.pointers());
    last_model_ = model;
    last_right_ = right.data();
}

bool CheckedPointers::is_in_range(std::uint64_t address, int device) {
    const auto found = std::find_if(ranges_.begin(), ranges_.end(), [=](const Range& range) {
        return range.device == device && address - range.begin < range.bytes;
    });
    if (found == ranges_.end()) return false;
    last_range_ = static_cast<std::size_t>(found - ranges_.begin());
    return true;
}

std::optional<Mismatch> CheckedPointers::ask(std::uint64_t address, std::uint32_t alignment, int device) {
    const DriverApi* const api = driver_api();
    if (api == nullptr || device == kNoDevice) return std::nullopt;
    PointerFacts facts{true, device, device, true};
    if (!is_in_range(address, device)) {
        const RelaxedCapture relaxed(*api);
        facts = facts_of(*api, address, device);
        if (facts.is_known && !compare_pointer(address, 0, facts)) {
            const auto begin = asked<CUdeviceptr>(*api, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, address);
            const auto bytes = asked<std::size_t>(*api, CU_POINTER_ATTRIBUTE_RANGE_SIZE, address);
            if (begin && bytes) ranges_[next_range_++ % kRanges] = {*begin, *bytes, device};
        }
    }
    return compare_pointer(address, alignment, facts);
}

}  // namespace aoti_dbg
