// See allocation_map.hpp: the reader and its queries. The words are in triage/judge/memory_words.
#include "serializer/allocation_map.hpp"

#include <algorithm>
#include <cstring>

#include "base/file_bytes.hpp"
#include "serializer/mapped_entries.hpp"
#include "serializer/ring_path.hpp"

namespace aoti_dbg {
namespace {

using allocations::Failure;
using allocations::FileHeader;
using allocations::Slot;
using allocations::Way;

// The library's own map takes 3 MiB.
constexpr std::uint64_t kLargestMap = std::uint64_t{1} << 28U;

bool holds(const Slot& slot, std::uint64_t address) {
    return address >= slot.address && address - slot.address < slot.bytes;
}

bool is_freed(const Slot& slot) {
    return slot.freed_ticks != 0;
}

bool was_made_for(const Slot& slot, const LaunchMoment& launch) {
    return launch.sequence == 0 || slot.created_sequence < launch.sequence;
}

bool was_there_for(const Slot& slot, const LaunchMoment& launch) {
    if (!was_made_for(slot, launch)) return false;
    return !is_freed(slot) || (launch.sequence != 0 && slot.freed_sequence >= launch.sequence);
}

NearMemory near_memory(const Slot& slot, NearMemory::Place place, std::uint64_t distance) {
    NearMemory near;
    near.place = place;
    near.address = slot.address;
    near.bytes = slot.bytes;
    near.distance = distance;
    near.device = slot.device;
    near.allocated_by = slot.allocated_by;
    near.created_sequence = slot.created_sequence;
    if (!is_freed(slot)) return near;
    near.freed_by = slot.freed_by;
    near.freed_sequence = slot.freed_sequence;
    return near;
}

Shortage near_memory(const AllocationMap& map, const Failure& failure) {
    Shortage shortage;
    shortage.bytes = failure.bytes;
    shortage.device = failure.device;
    shortage.free_bytes = failure.free_bytes;
    shortage.total_bytes = failure.total_bytes;
    shortage.thread = failure.thread;
    shortage.way = failure.way;
    for (const Slot& slot : map.slots) {
        const bool lived = slot.created_ticks <= failure.ticks &&
                           (slot.freed_ticks == 0 || slot.freed_ticks > failure.ticks);
        if (!lived || slot.device != failure.device || slot.device == allocations::kNoDevice) continue;
        shortage.held_bytes += slot.bytes;
        ++shortage.held;
    }
    return shortage;
}

/// Extends `near` over adjacent mapped pieces, which are one range to a kernel.
void grow(NearMemory& near, const std::vector<const Slot*>& there) {
    if (near.allocated_by != Way::map) return;
    const auto is_piece = [&near](const Slot* slot) {
        return slot->allocated_by == Way::map && slot->device == near.device;
    };
    for (const Slot* slot : there) {
        if (!is_piece(slot) || slot->address != near.address + near.bytes) continue;
        near.bytes += slot->bytes;
        ++near.pieces;
    }
    for (auto slot = there.rbegin(); slot != there.rend(); ++slot) {
        if (!is_piece(*slot) || (*slot)->address + (*slot)->bytes != near.address) continue;
        near.address = (*slot)->address;
        near.bytes += (*slot)->bytes;
        if (near.place != NearMemory::Place::behind && near.place != NearMemory::Place::before)
            near.distance += (*slot)->bytes;
        ++near.pieces;
    }
}

/// Returns the requested slots by address.
template <typename Matches>
std::vector<const Slot*> sorted_where(const AllocationMap& map, Matches matches) {
    std::vector<const Slot*> found;
    for (const Slot& slot : map.slots)
        if (matches(slot)) found.push_back(&slot);
    std::stable_sort(found.begin(), found.end(),
                     [](const Slot* a, const Slot* b) { return a->address < b->address; });
    return found;
}

/// Returns nullptr if none matches.
template <typename Slots, typename Matches>
const Slot* youngest(const Slots& slots, Matches matches) {
    const Slot* found = nullptr;
    for (const Slot& slot : slots)
        if (matches(slot) && (found == nullptr || slot.number > found->number)) found = &slot;
    return found;
}

void add_neighbours(const std::vector<const Slot*>& there, std::uint64_t address,
                    std::vector<NearMemory>& found) {
    const Slot* below = nullptr;
    const Slot* above = nullptr;
    for (const Slot* slot : there) {
        if (slot->address > address) {
            above = above == nullptr ? slot : above;
        } else if (below == nullptr || slot->address + slot->bytes >= below->address + below->bytes) {
            below = slot;
        }
    }
    if (below != nullptr && address - (below->address + below->bytes) < kNearBytes)
        found.push_back(
            near_memory(*below, NearMemory::Place::behind, address - (below->address + below->bytes)));
    if (above != nullptr && above->address - address <= kNearBytes)
        found.push_back(near_memory(*above, NearMemory::Place::before, above->address - address));
    for (NearMemory& near : found)
        grow(near, there);
}

}  // namespace

std::uint64_t AllocationMap::nanoseconds(std::uint64_t ticks) const {
    if (header.anchor_ticks <= header.start_ticks || header.anchor_unix_ns <= header.start_unix_ns) return 0;
    const double time = static_cast<double>(ticks) *
                        static_cast<double>(header.anchor_unix_ns - header.start_unix_ns) /
                        static_cast<double>(header.anchor_ticks - header.start_ticks);
    constexpr double kMost = 1e18;  // longer than any process lives
    return time < kMost ? static_cast<std::uint64_t>(time) : 0;
}

Result<AllocationMap> parse_allocation_map(std::string_view bytes) {
    const Result<FileHeader> read =
        mapped_header<FileHeader>(bytes, allocations::kMagic, allocations::kVersion, "allocations");
    if (!read.ok()) return read.status();
    AllocationMap map;
    map.header = read.value();
    const FileHeader& header = map.header;
    if (header.slot_bytes != sizeof(Slot) || header.failure_bytes != sizeof(Failure))
        return Status::error("a damaged map of allocations: its entries have an unexpected size");
    map.failures =
        mapped_entries<Failure>(bytes, allocations::kFailuresOffset, header.failures, "failures", map.notes);
    map.slots = mapped_entries<Slot>(bytes, allocations::slots_offset(header.failures), header.slots, "slots",
                                     map.notes);
    leave_out_impossible(map.slots, "allocations", map.notes);
    return map;
}

Result<AllocationMap> read_allocation_map(const std::string& path) {
    const Result<std::string> bytes = read_regular_file(path, "a map of allocations", kLargestMap);
    if (!bytes.ok()) return bytes.status();
    Result<AllocationMap> map = parse_allocation_map(bytes.value());
    if (!map.ok()) return Status::error(path + ": " + map.status().message());
    return map;
}

std::string allocations_path(const std::string& ring) {
    return path_beside_ring(ring, "allocations", ".map");
}

std::vector<NearMemory> near_memory(const AllocationMap& map, std::uint64_t address,
                                    const LaunchMoment& launch) {
    using Place = NearMemory::Place;
    std::vector<NearMemory> found;
    const auto is_there = [&launch](const Slot& slot) { return was_there_for(slot, launch); };
    const std::vector<const Slot*> there = sorted_where(map, is_there);
    const auto held = [&](const Slot& slot) { return holds(slot, address) && was_there_for(slot, launch); };
    if (const Slot* const slot = youngest(map.slots, held)) {
        found.push_back(near_memory(*slot, is_freed(*slot) ? Place::freed_later : Place::inside,
                                    address - slot->address));
        grow(found.front(), there);
        return found;
    }
    const auto had_held = [&](const Slot& slot) {
        return holds(slot, address) && is_freed(slot) && was_made_for(slot, launch);
    };
    if (const Slot* const slot = youngest(map.slots, had_held)) {
        NearMemory& near = found.emplace_back(near_memory(*slot, Place::freed, address - slot->address));
        if (launch.sequence != 0)
            near.freed_before_ns =
                launch.ticks > slot->freed_ticks ? map.nanoseconds(launch.ticks - slot->freed_ticks) : 0;
        return found;
    }
    add_neighbours(there, address, found);
    const auto had_been_there = [&launch](const Slot& slot) { return was_made_for(slot, launch); };
    if (found.empty()) add_neighbours(sorted_where(map, had_been_there), address, found);
    if (found.empty()) found.emplace_back();
    return found;
}

std::optional<Shortage> shortage_in(const AllocationMap& map, std::uint32_t thread, std::uint64_t begin_ticks,
                                    std::uint64_t end_ticks) {
    const std::uint64_t end = end_ticks == 0 ? UINT64_MAX : end_ticks;
    const auto is_in = [&](const Failure& failure) {
        const bool was_satisfied = failure.satisfied_ticks != 0 && failure.satisfied_ticks <= end;
        return failure.thread == thread && failure.ticks >= begin_ticks && failure.ticks <= end &&
               !was_satisfied;
    };
    const auto last = std::find_if(map.failures.rbegin(), map.failures.rend(), is_in);
    if (last == map.failures.rend()) return std::nullopt;
    return near_memory(map, *last);
}

std::optional<Shortage> shortage_at_end(const AllocationMap& map, std::uint64_t last_sequence) {
    if (map.failures.empty()) return std::nullopt;
    const Failure& last = map.failures.back();
    if (last.satisfied_ticks != 0 || last.sequence < last_sequence) return std::nullopt;
    return near_memory(map, last);
}

}  // namespace aoti_dbg
