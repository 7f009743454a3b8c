// The parts of a zip archive that `.pt` files use: uncompressed records, then the central directory that
// lists them, then its end. Numbers are little-endian, and structures follow each other without gaps. See
// PKWARE's APPNOTE.TXT, sections 4.3 and 4.5.
//
//   ┌─ for each record ────────────────────────────────────────────────────┐
//   │ LocalHeader · name · extra fields │ content │ data descriptor        │
//   ├─ once ───────────────────────────────────────────────────────────────┤
//   │ for each record: DirectoryEntry · name · extra fields                │
//   │ Zip64End · Zip64Locator · End                                        │
//   └──────────────────────────────────────────────────────────────────────┘
//
// An extra field is a tag and a length (16 bits each), followed by that many bytes. A value that does not fit
// its 32 bits is all ones there. The field kZip64Tag then holds it in 64 bits, in the order size, stored
// size, offset.
#pragma once

#include <cstdint>

namespace aoti_dbg::zip {

inline constexpr std::uint32_t kLocalMagic = 0x04034b50;
inline constexpr std::uint32_t kDescriptorMagic = 0x08074b50;
inline constexpr std::uint32_t kEntryMagic = 0x02014b50;
inline constexpr std::uint32_t kZip64EndMagic = 0x06064b50;
inline constexpr std::uint32_t kZip64LocatorMagic = 0x07064b50;
inline constexpr std::uint32_t kEndMagic = 0x06054b50;

/// A number of this value or more is stored in the zip64 field.
inline constexpr std::uint32_t kElsewhere = 0xffffffff;
inline constexpr std::uint16_t kElsewhere16 = 0xffff;

inline constexpr std::uint16_t kZip64Tag = 1;
inline constexpr std::uint16_t kPaddingTag = 'F' | 'B' << 8;  // torch's own padding field

inline constexpr std::uint16_t kStored = 0;
inline constexpr std::uint16_t kEncrypted = 1U << 0U;
/// Checksum and sizes follow the content and are zero in the local header.
inline constexpr std::uint16_t kHasDescriptor = 1U << 3U;
inline constexpr std::uint16_t kNameIsUtf8 = 1U << 11U;

#pragma pack(push, 1)

struct LocalHeader {
    std::uint32_t magic = kLocalMagic;
    std::uint16_t version_needed = 0;
    std::uint16_t flags = 0;
    std::uint16_t method = kStored;
    std::uint32_t time = 0;  // none
    std::uint32_t crc = 0;
    std::uint32_t stored_size = 0;
    std::uint32_t size = 0;
    std::uint16_t name_bytes = 0;
    std::uint16_t extra_bytes = 0;
};
static_assert(sizeof(LocalHeader) == 30);

struct DirectoryEntry {
    std::uint32_t magic = kEntryMagic;
    std::uint16_t version_made_by = 0;
    std::uint16_t version_needed = 0;
    std::uint16_t flags = 0;
    std::uint16_t method = kStored;
    std::uint32_t time = 0;
    std::uint32_t crc = 0;
    std::uint32_t stored_size = 0;
    std::uint32_t size = 0;
    std::uint16_t name_bytes = 0;
    std::uint16_t extra_bytes = 0;
    std::uint16_t comment_bytes = 0;
    std::uint16_t disk = 0;
    std::uint16_t internal_attributes = 0;
    std::uint32_t external_attributes = 0;
    std::uint32_t offset = 0;  // of the local header
};
static_assert(sizeof(DirectoryEntry) == 46);

struct Zip64End {
    std::uint32_t magic = kZip64EndMagic;
    std::uint64_t rest_bytes = 44;           // size of this structure from here on
    std::uint16_t version_made_by = 0x031e;  // Unix, 3.0
    std::uint16_t version_needed = 45;
    std::uint32_t disk = 0;
    std::uint32_t directory_disk = 0;
    std::uint64_t entries_on_disk = 0;
    std::uint64_t entries = 0;
    std::uint64_t directory_bytes = 0;
    std::uint64_t directory_offset = 0;
};
static_assert(sizeof(Zip64End) == 56);

struct Zip64Locator {
    std::uint32_t magic = kZip64LocatorMagic;
    std::uint32_t disk = 0;
    std::uint64_t end_offset = 0;  // of the Zip64End
    std::uint32_t disks = 1;
};
static_assert(sizeof(Zip64Locator) == 20);

struct End {
    std::uint32_t magic = kEndMagic;
    std::uint16_t disk = 0;
    std::uint16_t directory_disk = 0;
    std::uint16_t entries_on_disk = 0;
    std::uint16_t entries = 0;
    std::uint32_t directory_bytes = 0;
    std::uint32_t directory_offset = 0;
    std::uint16_t comment_bytes = 0;
};
static_assert(sizeof(End) == 22);

#pragma pack(pop)

}  // namespace aoti_dbg::zip
