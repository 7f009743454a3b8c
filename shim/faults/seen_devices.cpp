#include "shim/faults/seen_devices.hpp"

#include <array>

#include "shim/calls/session.hpp"
#include "shim/record/process_notes.hpp"
#include "shim/runtime/driver_api.hpp"
#include "shim/runtime/process.hpp"

namespace aoti_dbg {
namespace {

bool find_uuid(const DriverApi& api, CUdevice device, CUuuid& uuid) {
    for (const auto ask : {api.cuDeviceGetUuid_v2, api.cuDeviceGetUuid})
        if (ask != nullptr && ask(&uuid, device) == CUDA_SUCCESS) return true;
    return false;
}

DeviceFacts facts_of(const DriverApi& api, std::uint32_t number) {
    DeviceFacts facts;
    facts.number = number;
    int version = 0;
    CUdevice device = 0;
    if (api.cuDriverGetVersion(&version) == CUDA_SUCCESS)
        facts.driver_version = static_cast<std::uint32_t>(version);
    if (api.cuDeviceGet(&device, static_cast<int>(number)) != CUDA_SUCCESS) return facts;
    std::array<char, 256> name{};
    if (api.cuDeviceGetName(name.data(), static_cast<int>(name.size() - 1), device) == CUDA_SUCCESS)
        facts.name = name.data();
    CUuuid uuid{};
    if (find_uuid(api, device, uuid))
        facts.uuid = uuid_text(reinterpret_cast<const unsigned char*>(uuid.bytes), facts.name);
    return facts;
}

ProcessNotes* present_notes() {
    Session* const session = wiped_page().session.load(std::memory_order_acquire);
    return session == nullptr ? nullptr : session->notes();
}

}  // namespace

void note_device(std::int32_t device) {
    ProcessNotes* const notes = device < 0 ? nullptr : present_notes();
    if (notes == nullptr || !notes->is_new(static_cast<std::uint32_t>(device))) return;
    const DriverApi* const api = driver_api();
    if (api == nullptr) return;
    const RelaxedCapture relaxed(*api);
    notes->add(facts_of(*api, static_cast<std::uint32_t>(device)));
}

}  // namespace aoti_dbg
