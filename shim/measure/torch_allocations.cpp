// See torch_allocations.hpp.
#include "shim/measure/torch_allocations.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

#include "shim/calls/skipped_runs.hpp"
#include "shim/measure/pending.hpp"
#include "shim/runtime/loaded_object.hpp"

namespace aoti_dbg {

std::atomic<bool> g_allocations_reported{false};

namespace {

/// c10::reportMemoryUsageToProfiler(void*, int64_t, size_t, size_t, c10::Device), since torch 1.12.
constexpr std::string_view kReport = "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE";

/// c10::Device: a type and an index of one byte each.
using Device = std::uint16_t;
constexpr std::uint8_t kCuda = 1;
using Report = void (*)(void* address, std::int64_t bytes, std::size_t allocated, std::size_t reserved,
                        Device device);

std::atomic<Report> g_real{nullptr};

/// Runs in the allocating thread, before the memory has its new owner. A free has negative bytes.
void report(void* address, std::int64_t bytes, std::size_t allocated, std::size_t reserved, Device device) {
    if (bytes > 0 && static_cast<std::uint8_t>(device) == kCuda) {
        if (!are_allocations_watched()) g_allocations_reported.store(true, std::memory_order_relaxed);
        // A skipped run keeps nothing of a measurement, and its calls are not open.
        if (!in_skipped_run())
            note_torch_allocation(reinterpret_cast<std::uint64_t>(address),
                                  static_cast<std::uint64_t>(bytes));
    }
    g_real.load(std::memory_order_relaxed)(address, bytes, allocated, reserved, device);
}

/// If the slot cannot be written, nothing is reported, which are_allocations_watched() shows.
void take_slot(const LoadedObject& object, const ImportSlot& slot) {
    void* const real = real_behind(object, slot);
    if (real == nullptr) return;
    g_real.store(reinterpret_cast<Report>(real), std::memory_order_relaxed);
    (void)write_slot(object, slot, reinterpret_cast<void*>(&report));
}

}  // namespace

void watch_torch_allocations() {
    static std::once_flag once;
    std::call_once(once, [] {
        for (const LoadedObject& object : loaded_objects()) {
            // The CPU's allocators are in other libraries, and cost nothing if they are not watched.
            if (object.path.find("c10_cuda") == std::string::npos) continue;
            for_each_import(object, [&](const ImportSlot& slot) {
                if (slot.symbol == kReport) take_slot(object, slot);
            });
        }
    });
}

}  // namespace aoti_dbg
