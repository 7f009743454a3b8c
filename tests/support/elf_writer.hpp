// Writes ELF files by hand to test their readers: sections in any order, and headers with wrong values where
// a test needs them. It must share no code with the reader.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace aoti_dbg::test {

/// Consecutive little-endian numbers.
class Packed {
  public:
    Packed& u8(std::uint64_t value) { return add(value, 1); }
    Packed& u16(std::uint64_t value) { return add(value, 2); }
    Packed& u32(std::uint64_t value) { return add(value, 4); }
    Packed& u64(std::uint64_t value) { return add(value, 8); }
    Packed& text(const std::string& value) {
        bytes_ += value;
        return u8(0);
    }
    Packed& raw(const std::string& value) {
        bytes_ += value;
        return *this;
    }
    Packed& uleb(std::uint64_t value) {
        for (; value >= 0x80; value >>= 7U)
            u8(0x80 | (value & 0x7fU));
        return u8(value);
    }
    /// Pads with zeros, or truncates, to that length.
    Packed& resize(std::size_t bytes) {
        bytes_.resize(bytes, '\0');
        return *this;
    }
    [[nodiscard]] const std::string& bytes() const { return bytes_; }

  private:
    Packed& add(std::uint64_t value, int bytes) {
        for (int i = 0; i < bytes; ++i)
            bytes_.push_back(static_cast<char>(value >> (8 * i)));
        return *this;
    }
    std::string bytes_;
};

struct WrittenSection {
    std::string name;
    std::uint32_t type = 1;
    std::string content;
    std::uint64_t flags = 0;
    std::uint64_t address = 0;
    std::uint32_t link = 0;
    std::uint32_t info = 0;
    std::uint64_t entry_bytes = 0;
    // If not negative, these replace the true values.
    std::int64_t said_offset = -1;
    std::int64_t said_bytes = -1;
};

class ElfWriter {
  public:
    ElfWriter(std::uint16_t type, std::uint16_t machine) : type_(type), machine_(machine) {}

    /// Returns the section's number.
    std::uint32_t add(WrittenSection section) {
        sections_.push_back(std::move(section));
        return static_cast<std::uint32_t>(sections_.size());
    }
    [[nodiscard]] WrittenSection& section(std::uint32_t number) { return sections_.at(number - 1); }
    /// Returns the first section of that type, or 0 if there is none.
    [[nodiscard]] std::uint32_t find(std::uint32_t type) const {
        for (std::uint32_t i = 0; i < sections_.size(); ++i)
            if (sections_[i].type == type) return i + 1;
        return 0;
    }

    /// Store the section count as files do when it does not fit 16 bits.
    bool counts_in_first_section = false;

    [[nodiscard]] std::string bytes() const {
        std::vector<WrittenSection> sections = sections_;
        std::string names(1, '\0');
        std::vector<std::uint64_t> name_offsets;
        sections.push_back({".shstrtab", 3, {}});
        for (const WrittenSection& section : sections) {
            name_offsets.push_back(names.size());
            names += section.name + '\0';
        }
        sections.back().content = names;

        Packed file;
        file.resize(64);
        std::vector<std::uint64_t> offsets;
        for (const WrittenSection& section : sections) {
            file.resize((file.bytes().size() + 7) / 8 * 8);
            offsets.push_back(file.bytes().size());
            if (section.type != 8) file.raw(section.content);
        }
        file.resize((file.bytes().size() + 7) / 8 * 8);
        const std::uint64_t table = file.bytes().size();
        const std::uint64_t count = sections.size() + 1;
        Packed first;
        first.resize(32).u64(counts_in_first_section ? count : 0);
        first.u32(counts_in_first_section ? count - 1 : 0).resize(64);
        file.raw(first.bytes());
        for (std::size_t i = 0; i < sections.size(); ++i) {
            const WrittenSection& s = sections[i];
            file.u32(name_offsets[i]).u32(s.type).u64(s.flags).u64(s.address);
            file.u64(s.said_offset >= 0 ? static_cast<std::uint64_t>(s.said_offset) : offsets[i]);
            file.u64(s.said_bytes >= 0 ? static_cast<std::uint64_t>(s.said_bytes) : s.content.size());
            file.u32(s.link).u32(s.info).u64(8).u64(s.entry_bytes);
        }
        Packed header;
        header
            .raw(
                "\x7f"
                "ELF")
            .u8(2)
            .u8(1)
            .u8(1)
            .u8(0x33)
            .resize(16);
        header.u16(type_).u16(machine_).u32(1).u64(0).u64(0).u64(table).u32(0).u16(64).u16(0).u16(0).u16(64);
        header.u16(counts_in_first_section ? 0 : count);
        header.u16(counts_in_first_section ? 0xffff : count - 1);
        return header.bytes() + file.bytes().substr(64);
    }

  private:
    std::uint16_t type_;
    std::uint16_t machine_;
    std::vector<WrittenSection> sections_;
};

struct WrittenFunction {
    std::string name;
    std::uint64_t bytes = 0x200;
    std::uint64_t address = 0;  // of its section; each function has its own
    bool is_kernel = false;     // launched, not called by other functions
    std::string code = {};      // its first instructions
};

/// Returns a DWARF 2 line table. The first 16 bytes of each function map to line 40 of /src/kernel.py, the
/// next 16 to line 41. The rest maps to line 9 of a function inlined at line 40. With `relocated`, it
/// contains addresses. Otherwise it contains zeros, and `relocations` gets an entry for each.
inline std::string line_section(const std::vector<WrittenFunction>& functions, bool relocated,
                                std::string* relocations) {
    Packed head;  // follows the length field
    head.u8(1).u8(1).u8(0xfb).u8(14).u8(10);
    for (const int operands : {0, 1, 1, 1, 1, 0, 0, 0, 1})
        head.u8(static_cast<std::uint64_t>(operands));
    head.text("/src").u8(0).text("kernel.py").uleb(1).uleb(0).uleb(0).u8(0);
    Packed unit;
    unit.u16(2).u32(head.bytes().size()).raw(head.bytes());
    Packed entries;
    for (std::size_t i = 0; i < functions.size(); ++i) {
        unit.u8(0).uleb(9).u8(2);
        entries.u64(4 + unit.bytes().size()).u64((i + 1) << 32U | 2U).u64(0);
        unit.u64(relocated ? functions[i].address : 0);
        unit.u8(3).u8(39).u8(1);                 // row 1: line 40
        unit.u8(240);                            // row 2: 16 bytes, 1 line on
        unit.u8(0).u8(3).u8(0x90).u8(1).u8(0);   // the next rows are inlined at row 1
        unit.u8(3).u8(0x60).u8(2).u8(16).u8(1);  // row 3: 16 bytes on, line 41 - 32
        unit.u8(0).u8(3).u8(0x90).u8(0).u8(0);   // end of the inlined rows
        unit.u8(2).uleb(functions[i].bytes - 32).u8(0).u8(1).u8(1);
    }
    if (relocations != nullptr) *relocations = entries.bytes();
    Packed section;
    section.u32(unit.bytes().size()).raw(unit.bytes());
    return section.bytes();
}

/// Returns an image as the driver keeps it, with each function in its own section at its address. Otherwise
/// returns a cubin as ptxas writes it, with relocations and no addresses.
inline std::string module_image(const std::vector<WrittenFunction>& functions, bool relocated = true,
                                bool with_lines = true) {
    ElfWriter writer(2, 190);
    std::string names(1, '\0');
    Packed symbols;
    symbols.resize(24);
    for (std::size_t i = 0; i < functions.size(); ++i) {
        const WrittenFunction& function = functions[i];
        const std::uint32_t number = writer.add({".text." + function.name, 1,
                                                 Packed().raw(function.code).resize(function.bytes).bytes(),
                                                 6, relocated ? function.address : 0});
        symbols.u32(names.size()).u8(0x12).u8(function.is_kernel ? 0x10 : 0).u16(number);
        symbols.u64(relocated ? function.address : 0).u64(function.bytes);
        names += function.name + '\0';
    }
    const std::uint32_t strings = writer.add({".strtab", 3, names});
    const std::uint32_t table = writer.add({".symtab", 2, symbols.bytes(), 0, 0, strings, 1, 24});
    if (with_lines) {
        std::string relocations;
        const std::string lines = line_section(functions, relocated, &relocations);
        const std::uint32_t number = writer.add({".debug_line", 1, lines});
        writer.add({".debug_str", 1, std::string("_Z6inlinei\0", 11)});
        if (!relocated) writer.add({".rela.debug_line", 4, relocations, 0, 0, table, number, 24});
    }
    return writer.bytes();
}

}  // namespace aoti_dbg::test
