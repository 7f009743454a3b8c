#include "shim/observe/launch_count.hpp"

#include <limits>

#include "shim/bind/driver_table.hpp"
#include "shim/observe/clock.hpp"
#include "shim/observe/event_handlers.hpp"

namespace aoti_dbg {

std::atomic<bool> g_counts_launches{false};

namespace {

struct Counted {
    std::atomic<void*> context{nullptr};
    std::atomic<std::uint32_t> kernels{0};
};

// More contexts than these have no numbers.
constexpr std::size_t kMostContexts = 64;
Counted g_counted[kMostContexts];
std::atomic<std::uint64_t> g_last_launch{0};

[[gnu::hot]] void* current_context() {
    using GetCurrent = int (*)(void** context);
    static const auto get_current = reinterpret_cast<GetCurrent>(other_driver_function("cuCtxGetCurrent"));
    void* context = nullptr;
    return get_current != nullptr && get_current(&context) == 0 ? context : nullptr;
}

/// That of the thread's context; null without one.
[[gnu::hot]] Counted* counted() {
    void* const context = current_context();
    if (context == nullptr) return nullptr;
    for (Counted& one : g_counted) {
        void* there = one.context.load(std::memory_order_acquire);
        if (there == context) return &one;
        if (there != nullptr) continue;
        if (one.context.compare_exchange_strong(there, context)) {
            event_handlers::expect_others();
            return &one;
        }
        if (there == context) return &one;
    }
    return nullptr;
}

/// The same for a launch.
Counted* counted_at_launch() {
    g_last_launch.store(coarse_nanoseconds(), std::memory_order_relaxed);
    Counted* const one = counted();
    event_handlers::find_if_any_are_missing();
    return one;
}

}  // namespace

[[gnu::hot]] std::uint32_t number_of_launch() {
    Counted* const one = counted_at_launch();
    return one == nullptr ? 0 : one->kernels.fetch_add(1, std::memory_order_relaxed) + 1;
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
    for (Counted& one : g_counted)
        if (context == nullptr || one.context.load(std::memory_order_acquire) == context)
            one.kernels.store(0, std::memory_order_relaxed);
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
