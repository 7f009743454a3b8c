// What a linker would still write into a section of an ELF file: asked for by place, nothing is written.
// Only what refers to a place in another section (the line tables of cubins and of objects need no more).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "binary/elf_reader.hpp"

namespace aoti_dbg::elf {

/// A place in the program.
struct Place {
    std::size_t section = 0;  // 0: `offset` is an address, or a number that means no place
    std::uint64_t offset = 0;
};

class Relocations {
  public:
    Relocations() = default;
    /// Those of `section`. The file outlives them.
    Relocations(const File& file, std::size_t section);

    /// What the number `stored` at that offset of the section stands for.
    [[nodiscard]] Place place_at(std::uint64_t offset, std::uint64_t stored) const;

  private:
    struct Entry {
        std::uint64_t offset = 0;
        std::uint32_t symbol = 0;
        std::optional<std::int64_t> addend;  // none: it is the number that is stored
    };
    void read(const Section& table);

    std::optional<Symbols> symbols_;
    std::vector<Entry> entries_;  // by offset
};

}  // namespace aoti_dbg::elf
