// The parts of a 64-bit ELF file that dumps, module images and line tables use: a header and a table of
// sections. Sections may be anywhere in the file. Numbers are little-endian. See the System V ABI, chapters 4
// and 5 of its generic part.
//
//   Header · ... contents of sections ... · SectionHeader of each section; the first one is a placeholder
//
// A section count or index that does not fit 16 bits is stored in the first SectionHeader.
#pragma once

#include <cstdint>

namespace aoti_dbg::elf {

inline constexpr unsigned char kMagic[4] = {0x7f, 'E', 'L', 'F'};
inline constexpr unsigned char kClass64 = 2;
inline constexpr unsigned char kLittleEndian = 1;

inline constexpr std::uint16_t kRelocatable = 1;  // file types
inline constexpr std::uint16_t kCore = 4;
inline constexpr std::uint16_t kMachineCuda = 190;

inline constexpr std::uint32_t kSymbols = 2;  // section types
inline constexpr std::uint32_t kStrings = 3;
inline constexpr std::uint32_t kDynamicSymbols = 11;
inline constexpr std::uint32_t kRelocationsWithAddend = 4;
inline constexpr std::uint32_t kNothingInFile = 8;
inline constexpr std::uint32_t kRelocations = 9;
inline constexpr std::uint32_t kLoUser = 0x80000000;

inline constexpr std::uint64_t kInMemory = 1U << 1U;  // section flags
inline constexpr std::uint64_t kExecutable = 1U << 2U;
inline constexpr std::uint64_t kCompressed = 1U << 11U;

inline constexpr std::uint16_t kFirstReservedSection = 0xff00;  // from here on, an index has a special
                                                                // meaning
inline constexpr std::uint16_t kIndexElsewhere = 0xffff;

inline constexpr unsigned char kCudaEntry = 0x10;  // in `other` of a symbol: a kernel
inline constexpr unsigned char kFunction = 2;      // type of a symbol, in the low four bits of `info`

struct Header {
    unsigned char magic[4];
    unsigned char width;
    unsigned char byte_order;
    unsigned char version;
    unsigned char abi;
    unsigned char padding[8];
    std::uint16_t type;
    std::uint16_t machine;
    std::uint32_t version_again;
    std::uint64_t entry;
    std::uint64_t segments_offset;
    std::uint64_t sections_offset;
    std::uint32_t flags;
    std::uint16_t header_bytes;
    std::uint16_t segment_bytes;
    std::uint16_t segments;
    std::uint16_t section_bytes;
    std::uint16_t sections;
    std::uint16_t names_section;
};
static_assert(sizeof(Header) == 64);

struct SectionHeader {
    std::uint32_t name;
    std::uint32_t type;
    std::uint64_t flags;
    std::uint64_t address;
    std::uint64_t offset;
    std::uint64_t bytes;
    std::uint32_t link;
    std::uint32_t info;
    std::uint64_t alignment;
    std::uint64_t entry_bytes;
};
static_assert(sizeof(SectionHeader) == 64);

struct SymbolEntry {
    std::uint32_t name;
    unsigned char info;
    unsigned char other;
    std::uint16_t section;
    std::uint64_t value;
    std::uint64_t bytes;
};
static_assert(sizeof(SymbolEntry) == 24);

struct RelocationEntry {
    std::uint64_t offset;
    std::uint64_t info;   // the symbol in its upper half
    std::int64_t addend;  // absent if the section's type is kRelocations
};
static_assert(sizeof(RelocationEntry) == 24);

}  // namespace aoti_dbg::elf
