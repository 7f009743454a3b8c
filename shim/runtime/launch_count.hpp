// Numbers the kernels of each context as the driver does, because its core dump of a fault gives only that
// number. Costs one load unless fault_watch enables it.

// Launches count, and so do the kernels with which the driver fills memory and copies it on the device. The
// driver numbers the kernels of a graph at instantiation, and then the graph itself. We count them at
// capture, so numbers are too small after a graph that was not captured.
//
// A kernel counts in the context of its stream, which may differ from the thread's. This holds for graphs,
// fills and library kernels, too. A copy counts where its memory is, and a copy between devices has no
// kernel.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "serializer/flight_ring_format.hpp"

// The library exports none of these, so it need not look up their addresses.
#pragma GCC visibility push(hidden)

namespace aoti_dbg {

extern std::atomic<bool> g_counts_launches;

/// The number of a kernel in its context and the number of that context, both from 1. 0 means not counted.
struct LaunchNumber {
    std::uint32_t kernel = 0;
    std::uint8_t context = 0;
};

/// Registers a context. An unregistered context is registered at its first launch.
void add_context(void* context, int device);
/// Returns the number of the kernel about to be launched on `stream`.
LaunchNumber number_of_launch(const void* stream);
/// Returns only the context's number for a graph about to be launched. The driver gave the graph its own
/// number at instantiation.
LaunchNumber number_of_graph(const void* graph, const void* stream);
/// Returns the number of the stream's context.
std::uint8_t find_context_number(const void* stream);
/// Returns the number of `context`, or 0 if it has none yet.
std::uint8_t number_of_context(const void* context);
/// Returns the context with this number. Its handle is 0 if there is none.
ring::DeviceContext numbered_context(std::uint8_t number);
/// Changes whenever a context gets a number, or a numbered context gets another device.
extern std::atomic<std::uint32_t> g_context_changes;
inline std::uint32_t context_changes() {
    return g_context_changes.load(std::memory_order_acquire);
}
/// Undoes the count of a launch that the driver refused. `launch` may have no number.
void take_back(const LaunchNumber& launch);
/// Counts a copy from `from` to `to`. Either may be host memory.
void number_copy(std::uint64_t to, std::uint64_t from, const void* stream);
/// Call this when a context is about to be destroyed.
void forget_launch_counts(void* context);
/// Call this when a device is about to be reset.
void forget_launch_counts_of(int device);

/// Returns the time of the process's last launch on the coarse clock, or 0 if there was none.
std::uint64_t last_launch();
/// Returns the nanoseconds since the process's last launch, or the largest number if there was none.
std::uint64_t since_last_launch();

inline void note_context(void* context, int device) {
    if (g_counts_launches.load(std::memory_order_relaxed)) add_context(context, device);
}
// Without a stream, these functions use the thread's current context.
inline LaunchNumber next_launch_number(const void* stream = nullptr) {
    return g_counts_launches.load(std::memory_order_relaxed) ? number_of_launch(stream) : LaunchNumber{};
}
inline LaunchNumber graph_launch_number(const void* graph, const void* stream = nullptr) {
    return g_counts_launches.load(std::memory_order_relaxed) ? number_of_graph(graph, stream)
                                                             : LaunchNumber{};
}
inline std::uint8_t context_number(const void* stream = nullptr) {
    return g_counts_launches.load(std::memory_order_relaxed) ? find_context_number(stream) : std::uint8_t{0};
}

inline void count_copy(std::uint64_t to, std::uint64_t from, const void* stream = nullptr) {
    if (g_counts_launches.load(std::memory_order_relaxed)) [[unlikely]]
        number_copy(to, from, stream);
}
/// Counts a fill of `rows` rows of `row` bytes that begin `pitch` bytes apart. The driver fills a small
/// contiguous range without a kernel.
inline void count_fill(std::size_t row, std::size_t rows, std::size_t pitch, const void* stream = nullptr) {
    constexpr std::size_t kByKernel = 4097;
    const bool has_gaps = rows > 1 && pitch != row;
    if (row * rows >= (has_gaps ? 1 : kByKernel)) next_launch_number(stream);
}

}  // namespace aoti_dbg

#pragma GCC visibility pop
