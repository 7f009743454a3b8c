#include "shim/calls/driver_observer.hpp"

#include <bit>

#include "shim/runtime/process.hpp"

namespace aoti_dbg {

constinit ActiveDriverObservers g_driver_observers;

void activate_driver_observers() {
    std::size_t count = 0;
    g_driver_observers.before.fill(0);
    g_driver_observers.after.fill(0);
    for (const DriverObserver* const observer : all_driver_observers()) {
        const DriverKinds kinds = observer->kinds();
        if (kinds == 0) continue;
        for (std::size_t kind = 0; kind < kDriverKinds; ++kind) {
            const auto bit = static_cast<std::uint8_t>(1U << count);
            if ((kinds >> kind & 1U) != 0) g_driver_observers.before[kind] |= bit;
            if ((kinds & observer->kinds_after()) >> kind & 1U) g_driver_observers.after[kind] |= bit;
        }
        g_driver_observers.entries.at(count++) = observer;
    }
    g_driver_observers.tasks = count == 1 ? g_driver_observers.entries[0]->tasks() : nullptr;
    g_driver_observers.count.store(count, std::memory_order_release);
}

[[gnu::hot]] ObservedDriverCall::ObservedDriverCall(const DriverEvent& event) : event_(event) {
    unsigned observers = g_driver_observers.before[static_cast<std::size_t>(event.kind)];
    for (; observers != 0; observers &= observers - 1) {
        const auto i = static_cast<std::size_t>(std::countr_zero(observers));
        kept_[i] = {};
        g_driver_observers.entries[i]->before(event, kept_[i]);
    }
}

[[gnu::hot]] void ObservedDriverCall::after(std::int32_t result) const {
    unsigned observers = g_driver_observers.after[static_cast<std::size_t>(event_.kind)];
    while (observers != 0) {
        const auto i = static_cast<std::size_t>(std::bit_width(observers)) - 1;
        observers ^= 1U << i;
        g_driver_observers.entries[i]->after(event_, result, kept_[i]);
    }
}

}  // namespace aoti_dbg
