// What a hooked driver call does to streams, memory and the host, in terms that no feature owns. Hooks build
// it only while an observer watches (driver_observer.hpp).
// Streams are driver handles: nullptr is the legacy stream, CU_STREAM_PER_THREAD is the calling thread's own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>

#include "serializer/allocation_format.hpp"
#include "shim/runtime/driver_table.hpp"

struct CUlaunchConfig_st;

namespace aoti_dbg {

enum class DriverKind : std::uint8_t {
    access,           // copies or fills memory
    work,             // puts other work on a stream
    gate,             // a stream waits for a signal from elsewhere
    gate_by_event,    // a stream waits for an event
    signal,           // the stream shows its progress to the host or to other devices
    gate_and_signal,  // both, in an unknown order
    record_event,
    query,
    query_event,
    synchronize,
    synchronize_event,
    destroy_stream,
    allocate,
    free,
    free_host,
    trim_pool,
    launch,
    launch_graph,
    release_context,  // perhaps the last reference
    destroy_context,
    reset_device,
};
inline constexpr std::size_t kDriverKinds = static_cast<std::size_t>(DriverKind::reset_device) + 1;

/// A set of kinds.
using DriverKinds = std::uint32_t;
constexpr DriverKinds kinds_of(std::initializer_list<DriverKind> all) {
    DriverKinds kinds = 0;
    for (const DriverKind kind : all)
        kinds |= 1U << static_cast<unsigned>(kind);
    return kinds;
}

/// What the host waits for, or asks about.
struct Awaited {
    std::uint64_t stream = 0;  // in records, the legacy stream also represents the whole context
    std::uint64_t event = 0;   // 0: none; else `stream` is where it was last recorded, if known
    bool is_all = false;       // the whole context
    void* context = nullptr;   // for is_all; null: the thread's context
    bool is_anywhere = false;  // the context is unknown
};
inline Awaited of_stream(const void* stream) {
    return {reinterpret_cast<std::uintptr_t>(stream)};
}
inline Awaited of_event(const void* event) {
    return {0, reinterpret_cast<std::uintptr_t>(event)};
}
inline Awaited of_all(void* context = nullptr) {
    return {.is_all = true, .context = context};
}
/// Means the device of the memory at an address, which is unknown here.
inline Awaited of_memory() {
    return {.is_all = true, .is_anywhere = true};
}

struct MemoryRange {
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;  // 0: no memory with an address on the device
};

/// The memory of a copy or a fill. Of rows, it is the first one, because the gaps are not accessed.
struct CopyRanges {
    MemoryRange read;
    MemoryRange written;
    bool is_between_peers = false;  // ordered with the streams of both devices
};

/// A fill of rows that begin `pitch` bytes apart. Each has as many bytes as the written range.
struct FilledRows {
    std::size_t rows = 0;  // 0: the call fills nothing
    std::size_t pitch = 0;
};

/// The lists of a batch of copies. A list may be missing.
struct CopyBatch {
    const unsigned long long* to = nullptr;
    const unsigned long long* from = nullptr;
    const std::size_t* bytes = nullptr;
    std::size_t count = 0;
};

/// The device of the thread's context.
inline constexpr std::int32_t kCurrentDevice = -2;

/// Memory that a call allocates. The driver fills in what the pointers refer to.
struct AllocatedMemory {
    const void* address = nullptr;  // of eight bytes; null: the call returns none
    std::uint64_t bytes = 0;
    const std::size_t* pitch = nullptr;  // if the driver chooses it, `rows` times this replaces `bytes`
    std::size_t rows = 0;
    std::int32_t device = kCurrentDevice;
};

struct DriverEvent {
    DriverKind kind = DriverKind::work;
    Hook hook{};
    bool concerns_all = false;       // the call concerns all streams, even if its work is on one
    bool waits_if_pageable = false;  // the call waits for its copy if `target` is pageable memory
    void* stream = nullptr;
    void* event = nullptr;
    std::uint64_t target = 0;
    CopyRanges memory{};
    FilledRows fill{};
    CopyBatch batch{};
    std::optional<Awaited> awaited{};  // what a wait or a query of the host is about
    allocations::Way way{};            // of allocated or freed memory
    AllocatedMemory allocated{};
    MemoryRange freed{};  // without bytes: the allocation that begins there
    const CUlaunchConfig_st* launch = nullptr;
    void* context = nullptr;  // the context or the device that ends
    int device = 0;

    // These complete an event where it is built.

    /// Puts the work on a stream, which is all that the call concerns.
    DriverEvent& on(void* its_stream) {
        stream = its_stream;
        return *this;
    }
    /// Does the same for a call that concerns all streams.
    DriverEvent& among_all_on(void* its_stream) {
        concerns_all = true;
        return on(its_stream);
    }
    DriverEvent& awaiting(const Awaited& what) {
        awaited = what;
        return *this;
    }
    /// The call may return only after all work of the stream, and changes what all streams see.
    DriverEvent& blocking_on(void* its_stream) {
        return among_all_on(its_stream).awaiting(of_stream(its_stream));
    }
    /// The call returns when the copy to `its_target` is complete, if that is pageable memory.
    DriverEvent& complete_if_pageable(std::uint64_t its_target) {
        target = its_target;
        waits_if_pageable = true;
        return *this;
    }
};

}  // namespace aoti_dbg
