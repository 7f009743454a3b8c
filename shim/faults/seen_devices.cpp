#include "shim/faults/seen_devices.hpp"

#include <array>

#include "shim/calls/session.hpp"
#include "shim/record/process_notes.hpp"
#include "shim/runtime/driver_table.hpp"
#include "shim/runtime/gpu_api.hpp"
#include "shim/runtime/process.hpp"

namespace aoti_dbg {
namespace {

/// Returns the result of the driver's function, or an error if the driver has no such function.
template <typename... Arguments>
int ask(const char* name, Arguments... arguments) {
    constexpr int kNoFunction = 500;
    const auto function = reinterpret_cast<int (*)(Arguments...)>(other_driver_function(name));
    return function == nullptr ? kNoFunction : function(arguments...);
}

DeviceFacts facts_of(std::uint32_t number) {
    DeviceFacts facts;
    facts.number = number;
    int version = 0;
    int device = 0;
    if (ask("cuDriverGetVersion", &version) == 0) facts.driver_version = static_cast<std::uint32_t>(version);
    if (ask("cuDeviceGet", &device, static_cast<int>(number)) != 0) return facts;
    std::array<char, 256> name{};
    if (ask("cuDeviceGetName", name.data(), static_cast<int>(name.size() - 1), device) == 0)
        facts.name = name.data();
    std::array<unsigned char, 16> uuid{};
    if (ask("cuDeviceGetUuid_v2", uuid.data(), device) == 0 ||
        ask("cuDeviceGetUuid", uuid.data(), device) == 0)
        facts.uuid = uuid_text(uuid.data(), facts.name);
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
    const GpuApi* const api = gpu_api();
    if (api == nullptr) return;
    const RelaxedCapture relaxed(*api);
    notes->add(facts_of(static_cast<std::uint32_t>(device)));
}

}  // namespace aoti_dbg
