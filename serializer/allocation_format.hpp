// The map of allocations on disk, version 1. It lists the device-accessible memory that a process allocated
// and freed, and the allocations that failed. The library writes it through a shared mapping, so it survives
// SIGKILL. The command reads it after the process has exited.
//
//   offset 0       FileHeader, one page
//   offset 4096    header.failures x Failure   a ring: failure number n is at (n - 1) % failures
//   then           header.slots x Slot         unordered; `number` gives the order
//
// Integers use the byte order of the writing machine; `magic` shows it. An entry with `number` 0 is unused or
// being written. Times are ticks of the flight ring's clock, and sequences are its call numbers. New fields
// use reserved bytes only; any other change raises kVersion.
#pragma once

#include <cstddef>
#include <cstdint>

namespace aoti_dbg::allocations {

inline constexpr std::uint64_t kMagic = 0x314d454d49544f41ULL;  // the bytes "AOTIMEM1", little-endian
inline constexpr std::uint32_t kVersion = 1;
inline constexpr std::size_t kPage = 4096;

/// The driver call that created or freed memory. The numbers are part of the format.
enum class Way : std::uint8_t {
    unknown = 0,
    alloc = 1,
    alloc_pitch = 2,
    alloc_managed = 3,
    alloc_async = 4,
    alloc_from_pool = 5,
    map = 6,     // maps memory created by cuMemCreate to an address
    create = 7,  // appears only in failures, because it has no address
    alloc_host = 8,
    register_host = 9,
    open_ipc = 10,

    free = 32,
    free_async = 33,
    unmap = 34,
    free_host = 35,
    unregister_host = 36,
    close_ipc = 37,
    context_destroyed = 38,
    unseen = 39,  // other memory was created at its address
};

/// True if the operation takes effect in stream order, not when the call returns.
inline constexpr bool is_in_stream_order(Way way) {
    return way == Way::alloc_async || way == Way::alloc_from_pool || way == Way::free_async;
}

/// True if the memory is host memory, which belongs to no device.
inline constexpr bool is_of_host(Way way) {
    return way == Way::alloc_host || way == Way::register_host;
}

inline constexpr std::int32_t kNoDevice = -1;

struct FileHeader {
    std::uint64_t magic;
    std::uint32_t version;
    std::uint32_t slot_bytes;  // sizeof(Slot)
    std::uint32_t failure_bytes;
    std::uint32_t pid;
    std::uint32_t slots;
    std::uint32_t failures;
    // Two points in time on both clocks give the length of a tick. The second is set with each entry.
    std::uint64_t start_unix_ns;
    std::uint64_t start_ticks;
    std::uint64_t anchor_unix_ns;
    std::uint64_t anchor_ticks;
    std::uint64_t made;       // allocations so far
    std::uint64_t forgotten;  // freed allocations whose slot was reused
    std::uint64_t lost;       // not recorded because all slots held live memory
    std::uint64_t failed;     // failed allocations so far
};
static_assert(sizeof(FileHeader) <= kPage);

struct Slot {
    std::uint64_t number;  // counts from 1 over the process
    std::uint64_t address;
    std::uint64_t bytes;
    std::uint64_t created_ticks;
    std::uint64_t freed_ticks;       // 0: live
    std::uint64_t created_sequence;  // of the last call that had begun by then
    std::uint64_t freed_sequence;    // of the last call that had begun by then
    std::uint64_t stream;            // CUstream as a number, for stream-ordered allocations
    std::uint64_t freed_stream;
    std::uint32_t thread;
    std::uint32_t freed_thread;
    std::int32_t device;  // kNoDevice: host memory, or unknown
    Way allocated_by;
    Way freed_by;
    std::uint16_t reserved;
    std::uint64_t reserved_too;
};
static_assert(sizeof(Slot) == 96);

/// An allocation that the driver refused for lack of memory.
struct Failure {
    std::uint64_t number;  // counts from 1 over the process
    std::uint64_t bytes;   // requested
    std::uint64_t ticks;
    std::uint64_t satisfied_ticks;  // when the thread's request succeeded after all; 0: it did not
    std::uint64_t sequence;         // of the last call that had begun by then
    std::uint64_t free_bytes;       // of the device, right after the failure
    std::uint64_t total_bytes;      // 0: neither is known
    std::uint32_t thread;
    std::int16_t device;
    Way way;
    std::uint8_t reserved;
};
static_assert(sizeof(Failure) == 64);

inline constexpr std::size_t kFailures = kPage / sizeof(Failure);
inline constexpr std::size_t kFailuresOffset = kPage;
inline constexpr std::size_t slots_offset(std::size_t failures) {
    return kFailuresOffset + failures * sizeof(Failure);
}

}  // namespace aoti_dbg::allocations
