// The map of tensors on disk, version 1: the tensors that a model's runs received, created and freed, and
// their addresses. Allocators place many tensors in one driver allocation, so the map of allocations does not
// have them. The library writes it through a shared mapping, so it survives SIGKILL. The command reads it
// after the process has exited.
//
//   offset 0       FileHeader, one page
//   offset 4096    header.slots x Slot    a ring: tensor number n is at (n - 1) % slots
//
// Integers use the byte order of the writing machine; `magic` shows it. A slot with `number` 0 is unused or
// being written. Sequences are the flight ring's call numbers. New fields use reserved bytes only; any other
// change raises kVersion.
#pragma once

#include <cstddef>
#include <cstdint>

namespace aoti_dbg::tensors {

inline constexpr std::uint64_t kMagic = 0x314e455449544f41ULL;  // the bytes "AOTITEN1", little-endian
inline constexpr std::uint32_t kVersion = 1;
inline constexpr std::size_t kPage = 4096;

/// Where the run got the tensor. The numbers are part of the format.
enum class Origin : std::uint8_t {
    unknown = 0,
    input = 1,
    made = 2,      // created by the model's wrapper as an output buffer for calls
    returned = 3,  // by an op
};

/// How the tensor's life in the run ended. The numbers are part of the format.
enum class End : std::uint8_t {
    none = 0,
    freed = 1,     // by the wrapper; a view may still keep its memory alive
    outlived = 2,  // it still existed when the run had returned: an output
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
    std::uint64_t end_sequence;      // as above, when its end was noted: before the run's next call began
    std::uint64_t ended;             // `number` if the end is this tensor's; written last
    std::uint32_t run;
    std::uint16_t model;
    Origin origin;
    End end;
    std::uint64_t reserved;
    char name[kNameBytes];  // in the wrapper source, zero-padded, with no NUL if truncated; empty: unknown
};
static_assert(sizeof(Slot) == 96);

}  // namespace aoti_dbg::tensors
