// Reads an ELF file (elf_format.hpp) that lies in memory: of any machine, 64 bits, little-endian. Takes any
// bytes: every number is checked against them before it is used. Copies and keeps nothing but the place of
// the table of sections.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/bytes_at.hpp"
#include "base/status.hpp"
#include "binary/elf_format.hpp"

namespace aoti_dbg::elf {

using Bytes = std::span<const std::byte>;

struct Section {
    std::uint32_t name = 0;  // as string_at() takes it
    std::uint32_t type = 0;
    std::uint64_t flags = 0;
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;  // as said; in memory, where nothing of it is in the file
    std::uint32_t link = 0;
    std::uint32_t info = 0;
    std::uint64_t entry_bytes = 0;
    Bytes content;          // what of it lies within the file
    bool is_whole = false;  // all of it does
};

struct Symbol {
    std::uint32_t name = 0;
    bool is_function = false;
    bool is_kernel = false;    // a function that the host can launch, in NVIDIA's images
    std::size_t section = 0;   // 0: of none
    std::uint64_t offset = 0;  // in its section; the value, where it is of none
    std::uint64_t bytes = 0;
};

class File {
  public:
    /// `bytes` outlive the file and what it gives. Fails where the table of sections is not whole.
    static Result<File> open(Bytes bytes);

    [[nodiscard]] std::uint16_t type() const { return header_.type; }
    [[nodiscard]] std::uint16_t machine() const { return header_.machine; }
    [[nodiscard]] std::size_t sections() const { return sections_; }
    /// An empty one for an index that is none.
    [[nodiscard]] Section section(std::size_t index) const;

    /// The text that begins there; nothing where it does not end within the section, or has no byte to end.
    [[nodiscard]] static std::optional<std::string_view> string_at(Bytes strings, std::uint64_t offset);
    [[nodiscard]] std::string_view section_name(const Section& section) const;
    /// The first of that name; 0 where there is none.
    [[nodiscard]] std::size_t find(std::string_view name) const;
    /// The section that holds an address of the program; 0 where none does.
    [[nodiscard]] std::size_t holder_of(std::uint64_t address) const;

  private:
    File(Bytes bytes, const Header& header) : bytes_(bytes), header_(header) {}

    Bytes bytes_;
    Header header_;
    std::size_t sections_ = 0;
    Bytes names_;
};

/// The symbols of a file, of one that was stripped those that others may refer to; empty where it has none.
/// The file outlives them.
class Symbols {
  public:
    explicit Symbols(const File& file);
    /// Those of one section, which relocations link to.
    Symbols(const File& file, std::size_t section);

    [[nodiscard]] std::size_t size() const { return count_; }
    /// Nothing for an index that is none.
    [[nodiscard]] std::optional<Symbol> at(std::size_t index) const;
    [[nodiscard]] std::string_view name(const Symbol& symbol) const;
    /// What string_at() finds their names in.
    [[nodiscard]] Bytes strings() const { return strings_; }

  private:
    const File* file_;
    Bytes entries_;
    Bytes strings_;
    std::size_t count_ = 0;
};

}  // namespace aoti_dbg::elf
