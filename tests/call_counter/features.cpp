// The list of features with the call counter alone. It takes the place of library/features.cpp.
#include "tests/call_counter/call_counter.hpp"

namespace aoti_dbg {

std::span<const CallObserver* const> all_call_observers() {
    static constexpr const CallObserver* kObservers[] = {
        &kCallCounter,
    };
    return kObservers;
}

}  // namespace aoti_dbg
