// Which line of which source an instruction comes from, as `.debug_line` says it: DWARF 2 to 5, of cubins,
// of module images in GPU core dumps, and of objects and programs of the host. Takes any bytes; keeps no
// table but that of relocations: for each question it walks through the section.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "binary/line_program.hpp"

namespace aoti_dbg {

struct SourceLine {
    std::string file;  // with its folder, as far as the table has it; may be empty
    std::uint64_t line = 0;
    std::string function;  // of this line, where it was inlined and that is told; mangled
};

class LineTable {
  public:
    /// `file` outlives the table. Fails where there is none, or a compressed one.
    static Result<LineTable> open(const elf::File& file);

    /// The line, and if it was inlined the line of the call, and so on outwards. Empty where the table says
    /// nothing of that place. `section` 0 is none.
    [[nodiscard]] std::vector<SourceLine> find(std::size_t section, std::uint64_t offset) const;

    /// All rows, with the path of the file of each. False where something is damaged and left out.
    bool each_row(const std::function<void(const LineRow&, const std::string& path)>& visitor) const;

  private:
    explicit LineTable(const elf::File& file) : file_(&file) {}
    [[nodiscard]] bool holds(const LineRow& row, std::uint64_t end, std::size_t section,
                             std::uint64_t offset) const;
    [[nodiscard]] std::vector<SourceLine> frames(const LineUnit& unit, LineRow row) const;

    const elf::File* file_;
    LineSections sections_;
    std::size_t only_code_ = 0;  // the section with instructions, where there is just one
};

}  // namespace aoti_dbg
