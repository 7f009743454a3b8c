#include "shim/calls/driver_observer.hpp"

#include "shim/runtime/process.hpp"

namespace aoti_dbg {

constinit ActiveDriverObservers g_driver_observers;

void activate_driver_observers() {
    std::size_t count = 0;
    for (const DriverObserver* const observer : all_driver_observers()) {
        if (const DriverKinds kinds = observer->kinds(); kinds != 0)
            g_driver_observers.entries.at(count++) = {observer, kinds};
    }
    g_driver_observers.count.store(count, std::memory_order_release);
}

[[gnu::hot]] ObservedDriverCall::ObservedDriverCall(const DriverEvent& event) : event_(event) {
    const DriverKinds kind = kinds_of({event.kind});
    const std::size_t count = g_driver_observers.count.load(std::memory_order_acquire);
    for (std::size_t i = 0; i < count; ++i) {
        const auto& [observer, kinds] = g_driver_observers.entries[i];
        if ((kinds & kind) != 0) observer->before(event, kept_[i]);
    }
}

[[gnu::hot]] void ObservedDriverCall::after(std::int32_t result) const {
    const DriverKinds kind = kinds_of({event_.kind});
    for (std::size_t i = g_driver_observers.count.load(std::memory_order_acquire); i-- > 0;) {
        const auto& [observer, kinds] = g_driver_observers.entries[i];
        if ((kinds & kind) != 0) observer->after(event_, result, kept_[i]);
    }
}

}  // namespace aoti_dbg
