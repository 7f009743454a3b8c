// Reads the entries of `.debug_info`, DWARF 2 to 5, in the order of the file. It keeps only the attributes
// that say where code is and where it was inlined. It accepts any bytes and always terminates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "binary/elf_reader.hpp"

namespace aoti_dbg {

struct DebugSections {
    elf::Bytes entries;        // .debug_info
    elf::Bytes abbreviations;  // .debug_abbrev
    elf::Bytes addresses;      // .debug_addr
    elf::Bytes ranges;         // .debug_ranges, up to DWARF 4
    elf::Bytes range_lists;    // .debug_rnglists
};

enum class EntryTag : std::uint16_t { compile_unit = 0x11, inlined_subroutine = 0x1d, subprogram = 0x2e };

/// The value of an attribute as the file has it. The form says how to read it.
struct EntryValue {
    std::uint64_t form = 0;  // 0: the entry lacks the attribute
    std::uint64_t number = 0;

    [[nodiscard]] bool any() const { return form != 0; }
    /// True for an address, or for an index of one.
    [[nodiscard]] bool is_address() const;
    /// True for an index into a table, which the unit says where to find.
    [[nodiscard]] bool is_index() const;
};

struct Entry {
    EntryTag tag{};
    std::size_t depth = 0;  // 0: the unit itself
    EntryValue low, high, ranges;
    EntryValue call_file, call_line;
    EntryValue lines, address_table, range_table;  // of a unit: where its part of other sections starts
};

struct EntryUnit {
    std::size_t end = 0;  // where the next unit starts, even if this one is damaged
    bool is_readable = false;
    std::uint16_t version = 0;
    std::uint8_t offset_bytes = 4;
    std::uint8_t address_bytes = 8;
    std::size_t abbreviations = 0;  // where its table starts
    std::size_t entries = 0;        // where its entries start
};

/// Returns true to continue.
using EntryVisitor = std::function<bool(const Entry&)>;

/// `offset` must be within the section.
EntryUnit read_entry_unit(const DebugSections& sections, std::size_t offset);

/// Visits the entries up to the first damage.
void each_entry(const DebugSections& sections, const EntryUnit& unit, const EntryVisitor& visitor);

}  // namespace aoti_dbg
