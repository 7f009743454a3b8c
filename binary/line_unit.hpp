// The head of a unit of `.debug_line`, DWARF 2 to 5: how its program is to be read, and the names of its
// files. Takes any bytes; keeps no names, but walks to the one that is asked for.
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
    std::size_t end = 0;  // where the next one begins; where it is damaged too
    bool is_readable = false;
    std::uint16_t version = 0;
    std::uint8_t offset_bytes = 4;  // of an offset into another section
    std::uint8_t instruction_bytes = 1;
    std::uint8_t operations = 1;  // in an instruction
    std::int8_t line_base = 0;
    std::uint8_t line_range = 1;
    std::uint8_t opcode_base = 1;
    elf::Bytes operands;      // how many an opcode has, by its number less one
    std::size_t names = 0;    // where the tables of folders and files begin
    std::size_t program = 0;  // and the program
};

/// `offset` lies within the section.
LineUnit read_line_unit(const LineSections& sections, std::size_t offset);

/// Path of a file by its number in the program; empty where the table has no such.
std::string line_file_path(const LineSections& sections, const LineUnit& unit, std::uint64_t file);

}  // namespace aoti_dbg
