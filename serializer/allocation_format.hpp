// The map of allocations on disk, version 1: what a process has made of memory that a device can reach, what
// of it was freed, and what it was refused. Written by the library through a shared mapping, so it survives
// SIGKILL; read by the command when the process is gone.
//
//   offset 0       FileHeader, one page
//   offset 4096    header.failures x Failure   a ring: failure number n lies at (n - 1) % failures
//   then           header.slots x Slot         in no order; `number` tells it
//
// Integers are in the byte order of the machine that wrote (`magic` shows it). An entry is being written, or
// was never used, while its `number` is 0. Times are ticks of the clock of the flight ring, sequences its
// numbers of calls. Fields are only ever added in reserved places; anything else raises kVersion.
#pragma once

#include <cstddef>
#include <cstdint>

namespace aoti_dbg::allocations {

inline constexpr std::uint64_t kMagic = 0x314d454d49544f41ULL;  // the bytes "AOTIMEM1", little-endian
inline constexpr std::uint32_t kVersion = 1;
inline constexpr std::size_t kPage = 4096;

/// The call of the driver by which memory came or went. The numbers are part of the format.
enum class Way : std::uint8_t {
    unknown = 0,
    alloc = 1,
    alloc_pitch = 2,
    alloc_managed = 3,
    alloc_async = 4,
    alloc_from_pool = 5,
    map = 6,     // memory that cuMemCreate has made gets an address
    create = 7,  // only ever refused: it has no address
    alloc_host = 8,
    register_host = 9,
    open_ipc = 10,

    free = 32,
    free_async = 33,
    unmap = 34,
    free_host = 35,
    unregister_host = 36,
    close_ipc = 37,
    context_gone = 38,
    unseen = 39,  // other memory was made at its address
};

/// Whether it happens when the stream gets there, and not when the call comes back.
inline constexpr bool is_in_stream_order(Way way) {
    return way == Way::alloc_async || way == Way::alloc_from_pool || way == Way::free_async;
}

/// Whether such memory lies with the host, and no device is its own.
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
    // Two moments on both clocks; a tick's length follows from them (the second is set at each entry).
    std::uint64_t start_unix_ns;
    std::uint64_t start_ticks;
    std::uint64_t anchor_unix_ns;
    std::uint64_t anchor_ticks;
    std::uint64_t made;       // allocations so far
    std::uint64_t forgotten;  // freed ones whose slot was needed
    std::uint64_t lost;       // not kept, since all slots held memory that lives
    std::uint64_t failed;     // refused so far
};
static_assert(sizeof(FileHeader) <= kPage);

struct Slot {
    std::uint64_t number;  // counts from 1 over the process
    std::uint64_t address;
    std::uint64_t bytes;
    std::uint64_t created_ticks;
    std::uint64_t freed_ticks;       // 0: lives
    std::uint64_t created_sequence;  // of the last call that had begun by then
    std::uint64_t freed_sequence;    // likewise
    std::uint64_t stream;            // CUstream as a number, where it was made in stream order
    std::uint64_t freed_stream;
    std::uint32_t thread;
    std::uint32_t freed_thread;
    std::int32_t device;  // kNoDevice: memory of the host, or not known
    Way made_by;
    Way freed_by;
    std::uint16_t reserved;
    std::uint64_t reserved_too;
};
static_assert(sizeof(Slot) == 96);

/// The driver had not so much memory.
struct Failure {
    std::uint64_t number;  // counts from 1 over the process
    std::uint64_t bytes;   // asked for
    std::uint64_t ticks;
    std::uint64_t satisfied_ticks;  // when the thread got as much after all; 0: it did not
    std::uint64_t sequence;         // of the last call that had begun by then
    std::uint64_t free_bytes;       // of the device, right afterwards
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
