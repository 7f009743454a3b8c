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

[[gnu::hot]] std::vector<std::uint64_t>& CheckedPointers::right_ones(std::uint16_t model,
                                                                     const ModelChecks& checks) {
    std::vector<std::uint64_t>& right = right_ones_[model];
    if (right.size() < checks.pointers()) right.resize(checks.pointers());
    return right;
}

bool CheckedPointers::is_in_range(std::uint64_t address, int device) const {
    return std::any_of(ranges_.begin(), ranges_.end(), [=](const Range& range) {
        return range.device == device && range.begin <= address && address < range.end;
    });
}

[[gnu::hot]] std::optional<Mismatch> CheckedPointers::ask(std::uint64_t address, std::uint32_t alignment) {
    const DriverApi* api = driver_api();
    CUdevice device = 0;
    if (api == nullptr || api->cuCtxGetDevice(&device) != CUDA_SUCCESS) return std::nullopt;
    PointerFacts facts{true, device, device, true};
    if (!is_in_range(address, device)) {
        const RelaxedCapture relaxed(*api);
        facts = facts_of(*api, address, device);
        if (facts.is_known && !compare_pointer(address, 0, facts)) {
            const auto begin = asked<CUdeviceptr>(*api, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, address);
            const auto bytes = asked<std::size_t>(*api, CU_POINTER_ATTRIBUTE_RANGE_SIZE, address);
            if (begin && bytes) ranges_[next_range_++ % kRanges] = {*begin, *begin + *bytes, device};
        }
    }
    return compare_pointer(address, alignment, facts);
}

}  // namespace aoti_dbg
