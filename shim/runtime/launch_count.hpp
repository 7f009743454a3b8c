// Numbers the kernels of each context as the driver does, whose core dump of a fault says the number of the
// kernel at fault: the launches, and the kernels by which the driver itself fills memory and copies it on the
// device. Kernels of a graph get theirs when it is made and the graph one more; here they are counted when
// they are captured, so that behind a graph made of anything else the numbers are too small.
// The context is that of the stream, which may be another than the thread's: a graph, a fill and a kernel of
// a library run there. A copy counts where its memory is, which may be elsewhere still, and from one device
// to another it has no kernel.
// Counts while faults are watched for (fault_watch), else costs a load.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "serializer/flight_ring_format.hpp"

namespace aoti_dbg {

extern std::atomic<bool> g_counts_launches;

/// Of a kernel among those of its context, and of that context, both from 1; 0: not counted.
struct LaunchNumber {
    std::uint32_t kernel = 0;
    std::uint8_t context = 0;
};

/// The program has got this context; one of which nobody has said so is met at its first launch.
void add_context(void* context, int device);
/// That of the kernel that is about to be launched on that stream.
LaunchNumber number_of_launch(const void* stream);
/// Of a graph that is about to be launched there the context alone: it had a number of its own when it was
/// made.
LaunchNumber number_of_graph(const void* graph, const void* stream);
/// That of the stream's context.
std::uint8_t find_context_number(const void* stream);
/// That of a context; 0 where it has none yet.
std::uint8_t number_of_context(const void* context);
/// The context of that number; its handle is 0 where there is none.
ring::DeviceContext numbered_context(std::uint8_t number);
/// Becomes another number whenever a context gets one, or one that had one gets another device.
std::uint32_t context_changes();
/// The driver has refused what may have a number.
void take_back(const LaunchNumber& launch);
/// Memory is copied from there to there, either of which may be the host's.
void number_copy(std::uint64_t to, std::uint64_t from, const void* stream);
/// A context is about to go.
void forget_launch_counts(void* context);
/// The device is being reset.
void forget_launch_counts_of(int device);

/// When the last launch of the process was, on the coarse clock; 0: there was none.
std::uint64_t last_launch();
/// Nanoseconds since the last launch of the process; the largest number where there was none.
std::uint64_t since_last_launch();

inline void note_context(void* context, int device) {
    if (g_counts_launches.load(std::memory_order_relaxed)) add_context(context, device);
}
// Without a stream that of the thread's context is meant.
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
/// Memory is filled, in rows of so many bytes that begin `pitch` apart: few bytes are without a kernel where
/// nothing lies between them.
inline void count_fill(std::size_t row, std::size_t rows, std::size_t pitch, const void* stream = nullptr) {
    constexpr std::size_t kByKernel = 4097;
    const bool has_gaps = rows > 1 && pitch != row;
    if (row * rows >= (has_gaps ? 1 : kByKernel)) next_launch_number(stream);
}

}  // namespace aoti_dbg
