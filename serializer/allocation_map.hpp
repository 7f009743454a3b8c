// Reads a map of allocations (allocation_format.hpp), even of a live process or one truncated by a crash. It
// reports the memory at an address, and whether a call failed for lack of memory. It accepts any bytes:
// impossible entries are dropped and noted. It must never trust a number that it has read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "serializer/allocation_format.hpp"
#include "serializer/tensor_map_format.hpp"

namespace aoti_dbg {

struct AllocationMap {
    allocations::FileHeader header{};
    std::vector<allocations::Slot> slots;  // complete ones, by number
    std::vector<allocations::Failure> failures;
    std::vector<std::string> notes;

    [[nodiscard]] std::uint64_t nanoseconds(std::uint64_t ticks) const;
};

/// Fails if `bytes` is not such a map or has a newer version, but never for damage after the header.
Result<AllocationMap> parse_allocation_map(std::string_view bytes);
Result<AllocationMap> read_allocation_map(const std::string& path);

/// Returns the path of the map that belongs to a flight ring.
std::string allocations_path(const std::string& ring);

/// The time of a launch, as the ring has it. Memory freed later was live for the launch; memory created later
/// was not. All zeros mean unknown.
struct LaunchMoment {
    std::uint64_t sequence = 0;
    std::uint64_t ticks = 0;
};

/// A tensor in a driver allocation, at or near an address.
struct NearTensor {
    enum class Place { inside, behind, before };  // behind: the address is past the tensor's end
    Place place = Place::inside;
    std::string name;  // empty: unknown
    tensors::Origin origin = tensors::Origin::unknown;
    tensors::End end = tensors::End::none;
    std::uint64_t address = 0;  // where it starts
    std::uint64_t bytes = 0;
    std::uint64_t distance = 0;  // into it, past its end, or before it
    std::uint32_t run = 0;
    std::uint16_t model = 0;
    std::uint64_t created_sequence = 0;
    std::uint64_t end_sequence = 0;
    bool was_freed = false;  // before the launch if that is known, else at any time
};

/// The memory that contains an address or is near it.
struct NearMemory {
    enum class Place {
        inside,       // in live memory
        freed_later,  // in live memory that was freed after the launch
        freed,        // in freed memory; if the launch is unknown, memory freed at any time
        behind,       // past the end of the nearest allocation below it
        before,       // before the nearest allocation above it
        nowhere       // not near any allocation
    };
    Place place = Place::nowhere;
    std::uint64_t address = 0;  // where it starts
    std::uint64_t bytes = 0;
    std::uint64_t distance = 0;  // into it, past its end, or before it
    std::uint32_t pieces = 1;    // adjacent pieces of mapped memory
    std::int32_t device = allocations::kNoDevice;
    allocations::Way allocated_by = allocations::Way::unknown;
    allocations::Way freed_by = allocations::Way::unknown;
    std::optional<std::uint64_t> freed_before_ns;  // before the launch, if that is known
    std::uint64_t created_sequence = 0;
    std::uint64_t freed_sequence = 0;  // 0: not freed
    std::vector<NearTensor> tensors;   // in it: the one at the address, or the nearest on both sides
    std::uint64_t known_tensors = 0;   // tensors known in it; 0 if the map of tensors has none

    [[nodiscard]] bool is_use_after_free() const { return place == Place::freed && freed_before_ns; }
};

/// Beyond this distance a neighbor says nothing about an address.
inline constexpr std::uint64_t kNearBytes = std::uint64_t{1} << 30U;

/// Returns the youngest entry that contains or contained the address. If there is none, it returns the
/// neighbors, the lower one first.
std::vector<NearMemory> near_memory(const AllocationMap& map, std::uint64_t address,
                                    const LaunchMoment& launch);

/// A request for memory that failed.
struct Shortage {
    std::uint64_t bytes = 0;
    std::int32_t device = allocations::kNoDevice;
    std::uint64_t free_bytes = 0;   // of the device
    std::uint64_t total_bytes = 0;  // 0: neither is known
    std::uint64_t held_bytes = 0;   // by the process at that time, on that device
    std::uint64_t held = 0;         // the number of allocations that hold those bytes
    std::uint32_t thread = 0;
    allocations::Way way = allocations::Way::unknown;
};

/// Returns the last failure of `thread` between two times whose request had not succeeded by `end_ticks`. An
/// `end_ticks` of 0 means the end of the process.
std::optional<Shortage> shortage_in(const AllocationMap& map, std::uint32_t thread, std::uint64_t begin_ticks,
                                    std::uint64_t end_ticks);

/// Returns the last failure of the process, a likely reason for its exit. Returns none if the thread's
/// request succeeded later, or if a call began after `last_sequence`.
std::optional<Shortage> shortage_at_end(const AllocationMap& map, std::uint64_t last_sequence);

}  // namespace aoti_dbg
