// Computes what a linker would write into a section of an ELF file, at one offset. It must not write
// anything. It supports only references to other sections, which is all that the line tables of cubins and
// objects need.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "binary/elf_reader.hpp"

namespace aoti_dbg::elf {

/// A place in the program.
struct Place {
    std::size_t section = 0;  // 0: `offset` is an address, or a number that is not a place
    std::uint64_t offset = 0;
};

class Relocations {
  public:
    Relocations() = default;
    /// Reads the relocations of `section`. The file must outlive them.
    Relocations(const File& file, std::size_t section);

    /// Resolves the number `stored` at that offset of the section.
    [[nodiscard]] Place place_at(std::uint64_t offset, std::uint64_t stored) const;

  private:
    struct Entry {
        std::uint64_t offset = 0;
        std::uint32_t symbol = 0;
        std::optional<std::int64_t> addend;  // none: the stored number is the addend
    };
    void read(const Section& table);

    std::optional<Symbols> symbols_;
    std::vector<Entry> entries_;  // by offset
};

}  // namespace aoti_dbg::elf
