// See call_observer.hpp.
#include "shim/calls/call_observer.hpp"

#include <array>
#include <atomic>
#include <cstddef>

namespace aoti_dbg {
namespace {

constexpr std::size_t kMostObservers = 16;
std::array<const CallObserver*, kMostObservers> g_active{};
std::atomic<std::size_t> g_active_count{0};

}  // namespace

std::span<const CallObserver* const> active_call_observers() {
    return {g_active.data(), g_active_count.load(std::memory_order_relaxed)};
}

// Each session starts under the lock of sessions, and finds the same observers on: the options do not change.
void activate_call_observers() {
    std::size_t count = 0;
    for (const CallObserver* const observer : all_call_observers())
        if (observer->is_on() && count < kMostObservers) g_active[count++] = observer;
    g_active_count.store(count, std::memory_order_release);
}

}  // namespace aoti_dbg
