// The list of features with the call counter alone. It takes the place of library/features.cpp.
#include "shim/calls/driver_observer.hpp"
#include "shim/calls/session_part.hpp"
#include "tests/call_counter/call_counter.hpp"

namespace aoti_dbg {

std::span<const CallObserver* const> all_call_observers() {
    static constexpr const CallObserver* kObservers[] = {
        &kCallCounter,
    };
    return kObservers;
}
std::span<const DriverObserver* const> all_driver_observers() {
    return {};
}
void start_session_parts(Session& /*session*/) {}

}  // namespace aoti_dbg
