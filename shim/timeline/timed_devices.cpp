#include "shim/timeline/timed_devices.hpp"

#include <array>

namespace aoti_dbg {
namespace {

std::uint32_t attribute(const DriverApi& api, CUdevice_attribute which, CUdevice device) {
    int value = 0;
    const bool is_known = api.cuDeviceGetAttribute(&value, which, device) == CUDA_SUCCESS && value > 0;
    return is_known ? static_cast<std::uint32_t>(value) : 0;
}

}  // namespace

std::vector<TimelineDevice> timed_devices(const DriverApi& api) {
    int count = 0;
    if (api.cuDeviceGetCount(&count) != CUDA_SUCCESS) return {};
    std::vector<TimelineDevice> devices;
    for (int number = 0; number < count; ++number) {
        CUdevice device = 0;
        if (api.cuDeviceGet(&device, number) != CUDA_SUCCESS) continue;
        std::array<char, 256> name{};
        if (api.cuDeviceGetName(name.data(), static_cast<int>(name.size() - 1), device) != CUDA_SUCCESS)
            name[0] = '\0';
        devices.push_back(
            {.number = static_cast<std::uint32_t>(number),
             .name = name.data(),
             .memory_clock_khz = attribute(api, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, device),
             .memory_bus_bits = attribute(api, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, device)});
    }
    return devices;
}

}  // namespace aoti_dbg
