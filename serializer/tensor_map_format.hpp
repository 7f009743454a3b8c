// The map of tensors on disk, version 1: what tensors a model's runs were given, made and let go, and where
// they lay. Allocators hold many in one piece of the driver's memory, so the map of allocations does not have
// them. Written by the library through a shared mapping, so it survives SIGKILL; read by the command when the
// process is gone.
//
//   offset 0       FileHeader, one page
//   offset 4096    header.slots x Slot    a ring: tensor number n lies at (n - 1) % slots
//
// Integers are in the byte order of the machine that wrote (`magic` shows it). A slot is being written, or
// was never used, while its `number` is 0. Sequences are the flight ring's numbers of calls. Fields are only
// ever added in reserved places; anything else raises kVersion.
#pragma once

#include <cstddef>
#include <cstdint>

namespace aoti_dbg::tensors {

inline constexpr std::uint64_t kMagic = 0x314e455449544f41ULL;  // the bytes "AOTITEN1", little-endian
inline constexpr std::uint32_t kVersion = 1;
inline constexpr std::size_t kPage = 4096;

/// How a run came by it. The numbers are part of the format.
enum class Origin : std::uint8_t {
    unknown = 0,
    input = 1,
    made = 2,      // by the model's wrapper, as room for what calls write
    returned = 3,  // by an op
};

/// What became of it. The numbers are part of the format.
enum class End : std::uint8_t {
    none = 0,
    freed = 1,     // by the wrapper; a view of it may still hold its memory
    outlived = 2,  // the run had come back, and it was still there: an output
};

inline constexpr std::size_t kNameBytes = 32;

struct FileHeader {
    std::uint64_t magic;
    std::uint32_t version;
    std::uint32_t slot_bytes;  // sizeof(Slot)
    std::uint32_t pid;
    std::uint32_t slots;
    std::uint64_t made;  // tensors so far
};
static_assert(sizeof(FileHeader) <= kPage);

struct Slot {
    std::uint64_t number;  // counts from 1 over the process
    std::uint64_t address;
    std::uint64_t bytes;             // up to its last element, gaps included
    std::uint64_t created_sequence;  // of the last call that had begun by then
    std::uint64_t end_sequence;      // likewise, when its end was noted: before the run's next call began
    std::uint64_t ended;             // `number`, where the end is this tensor's; written last
    std::uint32_t run;
    std::uint16_t model;
    Origin origin;
    End end;
    std::uint64_t reserved;
    char name[kNameBytes];  // in the wrapper source; zeros behind it, none where it is cut; empty: not known
};
static_assert(sizeof(Slot) == 96);

}  // namespace aoti_dbg::tensors
