#include "shim/runtime/launch_count.hpp"

#include <algorithm>
#include <iterator>
#include <limits>

#include "base/errno_keeper.hpp"
#include "shim/runtime/clock.hpp"
#include "shim/runtime/driver_api.hpp"
#include "shim/runtime/event_handlers.hpp"

namespace aoti_dbg {

std::atomic<bool> g_counts_launches{false};
std::atomic<std::uint32_t> g_context_changes{0};

namespace {

constexpr std::int32_t kUnknownDevice = -1;

struct Counted {
    std::atomic<void*> context{nullptr};
    std::atomic<std::uint32_t> kernels{0};
    std::atomic<std::int32_t> device{kUnknownDevice};
};

// Contexts beyond this number are not counted.
Counted g_counted[ring::kMostContexts];
std::atomic<std::uint64_t> g_last_launch{0};

[[gnu::always_inline]] inline void* current_context() {
    const DriverApi* const api = driver_api();
    CUcontext context = nullptr;
    return api != nullptr && api->cuCtxGetCurrent(&context) == CUDA_SUCCESS ? context : nullptr;
}

/// Returns null if the driver does not know. For a stream of a green context, the old function returns the
/// context created from it. The new function returns the primary context, which numbers its launches.
[[gnu::cold]] void* context_made_in(CUstream stream) {
    const DriverApi* const api = driver_api();
    if (api == nullptr) return nullptr;
    CUcontext context = nullptr;
    CUgreenCtx green = nullptr;
    if (api->cuStreamGetCtx_v2 != nullptr && api->cuStreamGetCtx_v2(stream, &context, &green) == CUDA_SUCCESS)
        return context;
    const bool is_known =
        api->cuStreamGetCtx != nullptr && api->cuStreamGetCtx(stream, &context) == CUDA_SUCCESS;
    return is_known ? context : nullptr;
}

/// Returns the stream's context. It can differ from the thread's if there are several contexts.
[[gnu::always_inline]] inline void* context_of(const void* stream) {
    if (g_counted[1].context.load(std::memory_order_relaxed) == nullptr) [[likely]]
        return current_context();
    auto* const handle = static_cast<CUstream>(const_cast<void*>(stream));
    const bool was_made = handle != nullptr && handle != CU_STREAM_LEGACY && handle != CU_STREAM_PER_THREAD;
    void* const context = was_made ? context_made_in(handle) : nullptr;
    return context != nullptr ? context : current_context();
}

/// Returns the device that owns the memory, or kUnknownDevice for host memory and unknown addresses.
std::int32_t device_of_memory(std::uint64_t address) {
    const DriverApi* const api = driver_api();
    const auto find = [&](void* value, CUpointer_attribute attribute) {
        return api != nullptr && api->cuPointerGetAttribute(value, attribute, address) == CUDA_SUCCESS;
    };
    CUmemorytype type{};
    std::int32_t device = kUnknownDevice;
    if (!find(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE) || type != CU_MEMORYTYPE_DEVICE) return kUnknownDevice;
    return find(&device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL) ? device : kUnknownDevice;
}

void set_device(Counted& one, int device) {
    one.device.store(device, std::memory_order_relaxed);
    g_context_changes.fetch_add(1, std::memory_order_release);
}

/// Finds the device of a context that was never registered. The driver answers only for the thread's current
/// context.
[[gnu::cold]] void find_device(Counted& one) {
    if (current_context() != one.context.load(std::memory_order_relaxed)) return;
    const DriverApi* const api = driver_api();
    CUdevice device = kUnknownDevice;
    if (api != nullptr && api->cuCtxGetDevice(&device) == CUDA_SUCCESS) set_device(one, device);
}

/// Returns the context's entry, or takes the next free one. Returns null if none is free.
[[gnu::noinline]] Counted* find_place_of(void* context) {
    for (Counted& one : g_counted) {
        void* there = one.context.load(std::memory_order_acquire);
        if (there == nullptr && one.context.compare_exchange_strong(there, context)) {
            event_handlers::expect_others();
            there = context;
        }
        if (there == context) return &one;
    }
    return nullptr;
}

[[gnu::always_inline]] inline Counted* place_of(void* context) {
    // Most processes have one context.
    if (g_counted[0].context.load(std::memory_order_acquire) == context) [[likely]]
        return &g_counted[0];
    return find_place_of(context);
}

/// Returns the entry of the stream's context, or null without a context.
[[gnu::always_inline]] inline Counted* counted(const void* stream) {
    void* const context = context_of(stream);
    Counted* const one = context != nullptr ? place_of(context) : nullptr;
    if (one != nullptr && one->device.load(std::memory_order_relaxed) == kUnknownDevice) [[unlikely]]
        find_device(*one);
    return one;
}

std::uint8_t number_of(const Counted& one) {
    static_assert(ring::kMostContexts < std::numeric_limits<std::uint8_t>::max());
    return static_cast<std::uint8_t>(&one - std::begin(g_counted) + 1);
}

/// Does the same for a launch, and notes its time.
[[gnu::always_inline]] inline Counted* counted_at_launch(const void* stream) {
    g_last_launch.store(coarse_nanoseconds(), std::memory_order_relaxed);
    Counted* const one = counted(stream);
    event_handlers::find_if_any_are_missing();
    return one;
}

/// Returns the entry of the stream's context if it is on this device, else that of the device's first
/// context.
[[gnu::noinline]] Counted* counted_on(std::int32_t device, const void* stream) {
    Counted* const one = counted_at_launch(stream);
    if (one == nullptr || one->device.load(std::memory_order_relaxed) == device) return one;
    auto* const found = std::find_if(std::begin(g_counted), std::end(g_counted), [device](const auto& other) {
        return other.device.load(std::memory_order_relaxed) == device;
    });
    return found != std::end(g_counted) ? found : nullptr;
}

template <typename Goes>
void forget_where(Goes goes) {
    for (Counted& one : g_counted) {
        if (!goes(one)) continue;
        one.kernels.store(0, std::memory_order_relaxed);
        // A new context may get the same address.
        one.device.store(kUnknownDevice, std::memory_order_relaxed);
    }
    event_handlers::expect_others();
}

/// Returns true if the graph is among the last launched ones that fit. A graph launched before those counts
/// again.
bool is_known(const void* graph) {
    constexpr std::size_t kGraphs = 256;
    static std::atomic<const void*> known[kGraphs];
    static std::atomic<std::size_t> next{0};
    for (const std::atomic<const void*>& one : known)
        if (one.load(std::memory_order_relaxed) == graph) return true;
    known[next.fetch_add(1, std::memory_order_relaxed) % kGraphs].store(graph, std::memory_order_relaxed);
    return false;
}

}  // namespace

void add_context(void* context, int device) {
    Counted* const one = context != nullptr ? place_of(context) : nullptr;
    if (one == nullptr || one->device.load(std::memory_order_relaxed) == device) return;
    set_device(*one, device);
    // It may have the address of a destroyed context.
    event_handlers::expect_others();
}

[[gnu::hot]] LaunchNumber number_of_launch(const void* stream) {
    Counted* const one = counted_at_launch(stream);
    if (one == nullptr) return {};
    return {one->kernels.fetch_add(1, std::memory_order_relaxed) + 1, number_of(*one)};
}

std::uint8_t find_context_number(const void* stream) {
    const Counted* const one = counted(stream);
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
    if (device == kUnknownDevice) return {};
    return {reinterpret_cast<std::uintptr_t>(one.context.load(std::memory_order_acquire)),
            static_cast<std::uint32_t>(device), 0};
}

void take_back(const LaunchNumber& launch) {
    if (launch.kernel != 0) g_counted[launch.context - 1].kernels.fetch_sub(1, std::memory_order_relaxed);
}

LaunchNumber number_of_graph(const void* graph, const void* stream) {
    Counted* const one = counted_at_launch(stream);
    if (one == nullptr) return {};
    if (!is_known(graph)) one->kernels.fetch_add(1, std::memory_order_relaxed);
    return {0, number_of(*one)};
}

void number_copy(std::uint64_t to, std::uint64_t from, const void* stream) {
    const ErrnoKeeper errno_keeper;
    const std::int32_t device = device_of_memory(to);
    if (device == kUnknownDevice || device_of_memory(from) != device) return;
    if (Counted* const one = counted_on(device, stream); one != nullptr)
        one->kernels.fetch_add(1, std::memory_order_relaxed);
}

void forget_launch_counts(void* context) {
    forget_where(
        [context](const Counted& one) { return one.context.load(std::memory_order_acquire) == context; });
}

void forget_launch_counts_of(int device) {
    forget_where(
        [device](const Counted& one) { return one.device.load(std::memory_order_relaxed) == device; });
}

std::uint64_t last_launch() {
    return g_last_launch.load(std::memory_order_relaxed);
}

std::uint64_t since_last_launch() {
    const std::uint64_t last = last_launch();
    return last == 0 ? std::numeric_limits<std::uint64_t>::max() : monotonic_nanoseconds() - last;
}

}  // namespace aoti_dbg
