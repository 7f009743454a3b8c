// See tensor_map.hpp.
#include "serializer/tensor_map.hpp"

#include <cstring>
#include <iterator>
#include <map>

#include "base/clean_text.hpp"
#include "serializer/mapped_entries.hpp"
#include "serializer/ring_path.hpp"

namespace aoti_dbg {
namespace {

std::uint64_t end_of(const tensors::Slot& slot) {
    return slot.address + slot.bytes;
}

/// True if it was in `memory`, not in an earlier or later allocation at that address.
bool is_in(const tensors::Slot& slot, const NearMemory& memory) {
    if (slot.address < memory.address || slot.address - memory.address >= memory.bytes) return false;
    // Mapped pieces were created at different times.
    if (memory.pieces == 1 && slot.created_sequence < memory.created_sequence) return false;
    // A tensor in freed memory is the error itself, so it counts.
    return memory.freed_sequence == 0 || memory.place == NearMemory::Place::freed ||
           slot.created_sequence <= memory.freed_sequence;
}

using ByAddress = std::map<std::uint64_t, const tensors::Slot*>;

bool overlaps(const ByAddress& taken, const tensors::Slot& slot) {
    const auto behind = taken.lower_bound(slot.address);
    if (behind != taken.end() && behind->first < end_of(slot)) return true;
    return behind != taken.begin() && end_of(*std::prev(behind)->second) > slot.address;
}

/// Returns the youngest at each place, because allocators reuse memory.
ByAddress youngest_in(const TensorMap& map, const NearMemory& memory, const LaunchMoment& launch) {
    ByAddress found;
    for (auto slot = map.slots.rbegin(); slot != map.slots.rend(); ++slot) {
        const bool was_made = launch.sequence == 0 || slot->created_sequence < launch.sequence;
        if (was_made && is_in(*slot, memory) && !overlaps(found, *slot)) found[slot->address] = &*slot;
    }
    return found;
}

NearTensor near_tensor(const tensors::Slot& slot, NearTensor::Place place, std::uint64_t distance,
                       const LaunchMoment& launch) {
    NearTensor near;
    near.place = place;
    append_clean({slot.name, strnlen(slot.name, sizeof slot.name)}, near.name);
    near.origin = slot.origin;
    near.address = slot.address;
    near.bytes = slot.bytes;
    near.distance = distance;
    near.run = slot.run;
    near.model = slot.model;
    near.created_sequence = slot.created_sequence;
    if (slot.ended != slot.number) return near;
    near.end = slot.end;
    near.end_sequence = slot.end_sequence;
    near.was_freed =
        slot.end == tensors::End::freed && (launch.sequence == 0 || slot.end_sequence < launch.sequence);
    return near;
}

// The library's own map takes 1.5 MiB.
constexpr std::size_t kLargestTensorMap = std::size_t{1} << 28U;

}  // namespace

Result<TensorMap> parse_tensor_map(std::string_view bytes) {
    if (bytes.size() > kLargestTensorMap) return Status::error("too large for a map of tensors");
    const Result<tensors::FileHeader> read =
        mapped_header<tensors::FileHeader>(bytes, tensors::kMagic, tensors::kVersion, "tensors");
    if (!read.ok()) return read.status();
    TensorMap map;
    map.header = read.value();
    const tensors::FileHeader& header = map.header;
    if (header.slot_bytes != sizeof(tensors::Slot))
        return Status::error("a damaged map of tensors: its entries have an unexpected size");
    map.slots = mapped_entries<tensors::Slot>(bytes, tensors::kPage, header.slots, "tensors", map.notes);
    leave_out_impossible(map.slots, "tensors", map.notes);
    return map;
}

std::string tensors_path(const std::string& ring) {
    return path_beside_ring(ring, "tensors", ".map");
}

std::vector<TensorOfRun> tensors_of_run(const TensorMap& map, std::uint32_t run, std::uint32_t model,
                                        std::uint64_t sequence) {
    std::vector<TensorOfRun> found;
    for (const tensors::Slot& slot : map.slots) {
        if (slot.run != run || slot.model != model || slot.created_sequence >= sequence) continue;
        const std::string_view name(slot.name, strnlen(slot.name, sizeof slot.name));
        if (!name.empty())  // "buf0 (later buf1)"
            found.push_back(
                {std::string(name.substr(0, name.find(' '))), slot.address, slot.bytes, slot.origin});
    }
    std::map<std::string_view, int> counts;
    for (const TensorOfRun& tensor : found)
        ++counts[tensor.name];
    std::vector<TensorOfRun> only;
    for (const TensorOfRun& tensor : found)
        if (counts[tensor.name] == 1) only.push_back(tensor);
    return only;
}

void add_near_tensors(const TensorMap& map, std::uint64_t address, const LaunchMoment& launch,
                      NearMemory& memory) {
    using Place = NearTensor::Place;
    if (memory.place == NearMemory::Place::nowhere) return;
    const ByAddress tensors = youngest_in(map, memory, launch);
    memory.known_tensors = tensors.size();
    const auto above = tensors.upper_bound(address);
    const tensors::Slot* const below = above == tensors.begin() ? nullptr : std::prev(above)->second;
    if (below != nullptr && address < end_of(*below)) {
        memory.tensors.push_back(near_tensor(*below, Place::inside, address - below->address, launch));
        return;
    }
    if (below != nullptr)
        memory.tensors.push_back(near_tensor(*below, Place::behind, address - end_of(*below), launch));
    if (above != tensors.end())
        memory.tensors.push_back(near_tensor(*above->second, Place::before, above->first - address, launch));
}

}  // namespace aoti_dbg
