// Reads the header of a `.debug_line` unit, DWARF 2 to 5: the encoding of its program and the names of its
// files. It accepts any bytes. It must not store names, but scans to the requested one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "binary/elf_relocations.hpp"

namespace aoti_dbg {

struct LineSections {
    elf::Bytes lines;              // .debug_line
    elf::Bytes line_strings;       // .debug_line_str
    elf::Bytes strings;            // .debug_str
    elf::Relocations relocations;  // of .debug_line
};

struct LineUnit {
    std::size_t end = 0;  // where the next unit starts, even if this one is damaged
    bool is_readable = false;
    std::uint16_t version = 0;
    std::uint8_t offset_bytes = 4;  // size of an offset into another section
    std::uint8_t instruction_bytes = 1;
    std::uint8_t operations = 1;  // per instruction
    std::int8_t line_base = 0;
    std::uint8_t line_range = 1;
    std::uint8_t opcode_base = 1;
    elf::Bytes operands;      // operand count of each opcode, at index opcode - 1
    std::size_t names = 0;    // where the tables of directories and files start
    std::size_t program = 0;  // where the program starts
};

/// `offset` must be within the section.
LineUnit read_line_unit(const LineSections& sections, std::size_t offset);

/// Returns the path of a file by its number in the program, or an empty path if the table does not have it.
std::string line_file_path(const LineSections& sections, const LineUnit& unit, std::uint64_t file);

}  // namespace aoti_dbg
