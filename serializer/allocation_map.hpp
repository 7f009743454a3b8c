// Reads a map of allocations (allocation_format.hpp), also one of a live process or one torn by its end, and
// answers what memory lies at an address, and whether a call failed for want of it. Takes any bytes: what
// cannot be right is left out and noted. Must never trust a number that it has read.
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
    std::vector<allocations::Slot> slots;  // whole ones, by number
    std::vector<allocations::Failure> failures;
    std::vector<std::string> notes;

    [[nodiscard]] std::uint64_t nanoseconds(std::uint64_t ticks) const;
};

/// Fails for what is no such map, or a newer version; never for damage after the header.
Result<AllocationMap> parse_allocation_map(std::string_view bytes);
Result<AllocationMap> read_allocation_map(const std::string& path);

/// The map that belongs to a flight ring.
std::string allocations_path(const std::string& ring);

/// "cuMemAlloc"
std::string_view word_of(allocations::Way way);

/// A launch, by the ring: what was freed after it was there for it, and what was made after it was not. All
/// zeros: it is not known.
struct LaunchMoment {
    std::uint64_t sequence = 0;
    std::uint64_t ticks = 0;
};

/// A tensor in a piece of the driver's memory, at an address or near it.
struct NearTensor {
    enum class Place { inside, behind, before };  // behind: the address lies past its end
    Place place = Place::inside;
    std::string name;  // empty: not known
    tensors::Origin origin = tensors::Origin::unknown;
    tensors::End end = tensors::End::none;
    std::uint64_t address = 0;  // where it begins
    std::uint64_t bytes = 0;
    std::uint64_t distance = 0;  // into it, past its end or before it
    std::uint32_t run = 0;
    std::uint16_t model = 0;
    std::uint64_t created_sequence = 0;
    std::uint64_t end_sequence = 0;
    bool was_freed = false;  // before the launch, where that is known; else at all
};

/// "inside", "behind", "before"
std::string_view word_of(NearTensor::Place place);

/// "64 KiB past the end of buf5 (1 MiB, created in run 3, already freed)"
std::string near_text(const NearTensor& near);

/// What memory an address lies in or by.
struct NearMemory {
    enum class Place {
        inside,       // of memory that was there
        freed_later,  // the same, but it was freed after the launch
        freed,        // in memory that had been freed, or was afterwards where the launch is not known
        behind,       // past the end of the nearest before it
        before,       // before the nearest behind it
        nowhere       // none is near
    };
    Place place = Place::nowhere;
    std::uint64_t address = 0;  // where it begins
    std::uint64_t bytes = 0;
    std::uint64_t distance = 0;  // into it, past its end or before it
    std::uint32_t pieces = 1;    // of mapped memory, that touch one another
    std::int32_t device = allocations::kNoDevice;
    allocations::Way made_by = allocations::Way::unknown;
    allocations::Way freed_by = allocations::Way::unknown;
    std::optional<std::uint64_t> freed_before_ns;  // before the launch, where that is known
    std::uint64_t created_sequence = 0;
    std::uint64_t freed_sequence = 0;  // 0: it was not freed
    std::vector<NearTensor> tensors;   // in it: one at the address, or the nearest on both sides
    std::uint64_t known_tensors = 0;   // in it: none where the map of tensors has none

    [[nodiscard]] bool is_use_after_free() const { return place == Place::freed && freed_before_ns; }
};

/// "inside", "freed_later" and so on.
std::string_view word_of(NearMemory::Place place);

/// Beyond this the neighbour of an address says nothing of it.
inline constexpr std::uint64_t kNearBytes = std::uint64_t{1} << 30U;

/// One entry where memory holds or held it, the youngest; else the neighbours, the one before it first.
std::vector<NearMemory> near_memory(const AllocationMap& map, std::uint64_t address,
                                    const LaunchMoment& launch);

/// "512 bytes past the end of an allocation of 2 MiB on cuda:0 (cuMemAlloc)"
std::string near_text(const NearMemory& near);
/// "2 MiB on cuda:0, freed by cuMemFree 3 ms before the launch"
std::string freed_text(const NearMemory& near);

/// Memory that a thread asked for and did not get.
struct Shortage {
    std::uint64_t bytes = 0;
    std::int32_t device = allocations::kNoDevice;
    std::uint64_t free_bytes = 0;   // of the device
    std::uint64_t total_bytes = 0;  // 0: neither is known
    std::uint64_t held_bytes = 0;   // by the process then, on that device
    std::uint64_t held = 0;         // in so many allocations
    std::uint32_t thread = 0;
    allocations::Way way = allocations::Way::unknown;
};

/// The last that `thread` was refused between two moments, and had not got by the second. An end of 0 is the
/// end of the process.
std::optional<Shortage> shortage_in(const AllocationMap& map, std::uint32_t thread, std::uint64_t begin_ticks,
                                    std::uint64_t end_ticks);

/// The last of the process, where its thread never got as much and no call has begun since the one with that
/// number: what the end of the process may be about.
std::optional<Shortage> shortage_at_end(const AllocationMap& map, std::uint64_t last_sequence);

/// "12 GiB requested on cuda:0 (3 GiB of 139 GiB free)"
std::string shortage_text(const Shortage& shortage);

}  // namespace aoti_dbg
