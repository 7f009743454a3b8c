// Writes allocation maps by hand, as allocation_format.hpp draws them, to test their readers. It must share
// no code with the library's writer.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "serializer/allocation_format.hpp"
#include "serializer/allocation_map.hpp"

namespace aoti_dbg::test {

using allocations::Failure;
using allocations::FileHeader;
using allocations::Slot;
using allocations::Way;

inline constexpr std::uint64_t kMiB = std::uint64_t{1} << 20U;
inline constexpr std::uint64_t kBase = 0x7f0000000000;
inline constexpr std::uint64_t kTicksPerMs = 500'000;  // a tick is 2 ns

inline FileHeader header_of(std::size_t slots, std::size_t failures) {
    FileHeader header{};
    header.magic = allocations::kMagic;
    header.version = allocations::kVersion;
    header.slot_bytes = sizeof(Slot);
    header.failure_bytes = sizeof(Failure);
    header.pid = 4242;
    header.slots = static_cast<std::uint32_t>(slots);
    header.failures = static_cast<std::uint32_t>(failures);
    header.start_unix_ns = 1'700'000'000'000'000'000U;
    header.start_ticks = 1000;
    header.anchor_unix_ns = header.start_unix_ns + 2'000'000'000U;
    header.anchor_ticks = header.start_ticks + 1'000'000'000U;
    return header;
}

inline std::string allocation_bytes(const FileHeader& header, const std::vector<Slot>& slots,
                                    const std::vector<Failure>& failures = {}) {
    std::string bytes(allocations::kFailuresOffset, '\0');
    std::memcpy(bytes.data(), &header, sizeof header);
    for (const Failure& failure : failures)
        bytes.append(reinterpret_cast<const char*>(&failure), sizeof failure);
    for (const Slot& slot : slots)
        bytes.append(reinterpret_cast<const char*>(&slot), sizeof slot);
    return bytes;
}

/// An allocation created after call `number`.
inline Slot slot(std::uint64_t number, std::uint64_t address, std::uint64_t bytes, Way way = Way::alloc) {
    Slot made{};
    made.number = number;
    made.address = address;
    made.bytes = bytes;
    made.created_ticks = 1000 + number * kTicksPerMs;
    made.created_sequence = number;
    made.allocated_by = way;
    return made;
}

inline Slot freed(Slot made, std::uint64_t sequence, Way way = Way::free) {
    made.freed_sequence = sequence;
    made.freed_ticks = 1000 + sequence * kTicksPerMs;
    made.freed_by = way;
    return made;
}

inline LaunchMoment launch(std::uint64_t sequence) {
    return {sequence, 1000 + sequence * kTicksPerMs};
}

inline Failure failure(std::uint64_t number, std::uint64_t bytes, std::uint64_t ticks,
                       std::uint32_t thread = 7) {
    Failure refused{};
    refused.number = number;
    refused.bytes = bytes;
    refused.ticks = ticks;
    refused.thread = thread;
    refused.way = Way::alloc;
    return refused;
}

}  // namespace aoti_dbg::test
