#include "shim/observe/launch_count.hpp"

#include <algorithm>
#include <iterator>
#include <limits>

#include "shim/bind/driver_table.hpp"
#include "shim/observe/clock.hpp"
#include "shim/observe/event_handlers.hpp"

namespace aoti_dbg {

std::atomic<bool> g_counts_launches{false};

namespace {

constexpr std::int32_t kNoDevice = -1;

struct Counted {
    std::atomic<void*> context{nullptr};
    std::atomic<std::uint32_t> kernels{0};
    std::atomic<std::int32_t> device{kNoDevice};
};

// More contexts than these have no numbers.
Counted g_counted[ring::kMostContexts];
std::atomic<std::uint32_t> g_context_changes{0};
std::atomic<std::uint64_t> g_last_launch{0};

[[gnu::hot]] void* current_context() {
    using GetCurrent = int (*)(void** context);
    static const auto get_current = reinterpret_cast<GetCurrent>(other_driver_function("cuCtxGetCurrent"));
    void* context = nullptr;
    return get_current != nullptr && get_current(&context) == 0 ? context : nullptr;
}

/// The thread's context, which is that one, has not been asked for its device.
[[gnu::cold]] void find_device(Counted& one) {
    using GetDevice = int (*)(int* device);
    static const auto get_device = reinterpret_cast<GetDevice>(other_driver_function("cuCtxGetDevice"));
    int device = kNoDevice;
    if (get_device == nullptr || get_device(&device) != 0) return;
    one.device.store(device, std::memory_order_relaxed);
    g_context_changes.fetch_add(1, std::memory_order_release);
}

/// That of the thread's context; null without one.
[[gnu::hot]] Counted* counted() {
    void* const context = current_context();
    if (context == nullptr) return nullptr;
    for (Counted& one : g_counted) {
        void* there = one.context.load(std::memory_order_acquire);
        if (there == nullptr && one.context.compare_exchange_strong(there, context)) {
            event_handlers::expect_others();
            there = context;
        }
        if (there != context) continue;
        if (one.device.load(std::memory_order_relaxed) == kNoDevice) [[unlikely]]
            find_device(one);
        return &one;
    }
    return nullptr;
}

std::uint8_t number_of(const Counted& one) {
    static_assert(ring::kMostContexts < std::numeric_limits<std::uint8_t>::max());
    return static_cast<std::uint8_t>(&one - std::begin(g_counted) + 1);
}

/// The same for a launch.
Counted* counted_at_launch() {
    g_last_launch.store(coarse_nanoseconds(), std::memory_order_relaxed);
    Counted* const one = counted();
    event_handlers::find_if_any_are_missing();
    return one;
}

}  // namespace

[[gnu::hot]] LaunchNumber number_of_launch() {
    Counted* const one = counted_at_launch();
    if (one == nullptr) return {};
    return {one->kernels.fetch_add(1, std::memory_order_relaxed) + 1, number_of(*one)};
}

std::uint8_t number_of_context() {
    const Counted* const one = counted();
    return one == nullptr ? std::uint8_t{0} : number_of(*one);
}

std::uint8_t number_of_context(const void* context) {
    const auto* const found = std::find_if(
        std::begin(g_counted), std::end(g_counted),
        [context](const auto& one) { return one.context.load(std::memory_order_acquire) == context; });
    return context == nullptr || found == std::end(g_counted) ? std::uint8_t{0} : number_of(*found);
}

ring::DeviceContext numbered_context(std::uint8_t number) {
    if (number == 0 || number > ring::kMostContexts) return {};
    const Counted& one = g_counted[number - 1];
    const std::int32_t device = one.device.load(std::memory_order_relaxed);
    if (device == kNoDevice) return {};
    return {reinterpret_cast<std::uintptr_t>(one.context.load(std::memory_order_acquire)),
            static_cast<std::uint32_t>(device), 0};
}

std::uint32_t context_changes() {
    return g_context_changes.load(std::memory_order_acquire);
}

void count_driver_kernel() {
    if (Counted* const one = counted_at_launch(); one != nullptr)
        one->kernels.fetch_add(1, std::memory_order_relaxed);
}

void take_back_launch() {
    if (Counted* const one = counted(); one != nullptr) one->kernels.fetch_sub(1, std::memory_order_relaxed);
}

void count_graph(void* graph) {
    // The last so many graphs; one that was launched before them is counted again.
    constexpr std::size_t kGraphs = 256;
    static std::atomic<void*> known[kGraphs];
    static std::atomic<std::size_t> next{0};
    g_last_launch.store(coarse_nanoseconds(), std::memory_order_relaxed);
    for (const std::atomic<void*>& one : known)
        if (one.load(std::memory_order_relaxed) == graph) return;
    known[next.fetch_add(1, std::memory_order_relaxed) % kGraphs].store(graph, std::memory_order_relaxed);
    count_driver_kernel();
}

void forget_launch_counts(void* context) {
    for (Counted& one : g_counted) {
        if (context != nullptr && one.context.load(std::memory_order_acquire) != context) continue;
        one.kernels.store(0, std::memory_order_relaxed);
        // Another may come to lie there.
        one.device.store(kNoDevice, std::memory_order_relaxed);
    }
    event_handlers::expect_others();
}

std::uint64_t last_launch() {
    return g_last_launch.load(std::memory_order_relaxed);
}

std::uint64_t since_last_launch() {
    const std::uint64_t last = last_launch();
    return last == 0 ? std::numeric_limits<std::uint64_t>::max() : monotonic_nanoseconds() - last;
}

}  // namespace aoti_dbg
