// Reads an in-memory ELF file of any machine, 64-bit and little-endian (System V ABI, generic part, chapters
// 4 and 5). It accepts any bytes and must check every number before using it. It copies nothing and keeps
// only the place of the section table. A section count or index that does not fit 16 bits is stored in the
// first section header.
#pragma once

#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/bytes_at.hpp"
#include "base/status.hpp"

namespace aoti_dbg::elf {

using Bytes = std::span<const std::byte>;

struct Section {
    std::uint32_t name = 0;  // for string_at()
    std::uint32_t type = 0;
    std::uint64_t flags = 0;
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;  // as declared; the size in memory if the file has none of it
    std::uint32_t link = 0;
    std::uint32_t info = 0;
    std::uint64_t entry_bytes = 0;
    Bytes content;          // the part of it that is in the file
    bool is_whole = false;  // the file has all of it
};

struct Symbol {
    std::uint32_t name = 0;
    bool is_function = false;
    bool is_kernel = false;    // a function that the host can launch, in NVIDIA's images
    std::size_t section = 0;   // 0: none
    std::uint64_t offset = 0;  // in its section; its value if it has no section
    std::uint64_t bytes = 0;
};

class File {
  public:
    /// `bytes` must outlive the file and its results. Fails if the section table is incomplete.
    static Result<File> open(Bytes bytes);

    [[nodiscard]] std::uint16_t type() const { return header_.e_type; }
    [[nodiscard]] std::uint16_t machine() const { return header_.e_machine; }
    [[nodiscard]] std::size_t sections() const { return sections_; }
    /// Returns an empty section for an invalid index.
    [[nodiscard]] Section section(std::size_t index) const;

    /// Returns the text at `offset`, or nothing if it is not terminated within the section.
    [[nodiscard]] static std::optional<std::string_view> string_at(Bytes strings, std::uint64_t offset);
    [[nodiscard]] std::string_view section_name(const Section& section) const;
    /// Returns the first section with that name, or 0 if there is none.
    [[nodiscard]] std::size_t find(std::string_view name) const;
    /// Returns the section that contains an address of the program, or 0 if none does.
    [[nodiscard]] std::size_t holder_of(std::uint64_t address) const;

  private:
    File(Bytes bytes, const Elf64_Ehdr& header) : bytes_(bytes), header_(header) {}

    Bytes bytes_;
    Elf64_Ehdr header_;
    std::size_t sections_ = 0;
    Bytes names_;
};

/// The symbols of a file; a stripped file has only its dynamic symbols. Empty if it has none. The file must
/// outlive them.
class Symbols {
  public:
    explicit Symbols(const File& file);
    /// Reads the symbols of one section, which relocations link to.
    Symbols(const File& file, std::size_t section);

    [[nodiscard]] std::size_t size() const { return count_; }
    /// Returns nothing for an invalid index.
    [[nodiscard]] std::optional<Symbol> at(std::size_t index) const;
    [[nodiscard]] std::string_view name(const Symbol& symbol) const;
    /// Returns the strings in which string_at() finds the symbols' names.
    [[nodiscard]] Bytes strings() const { return strings_; }

  private:
    const File* file_;
    Bytes entries_;
    Bytes strings_;
    std::size_t count_ = 0;
};

}  // namespace aoti_dbg::elf
