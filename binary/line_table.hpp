// Maps an instruction to its source line with `.debug_line`, DWARF 2 to 5. It reads cubins, module images in
// GPU core dumps, host objects and host programs. It accepts any bytes. It keeps only the relocation table
// and scans the section for each query.
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
    std::string file;  // with its directory, as far as the table has it; may be empty
    std::uint64_t line = 0;
    std::string function;  // mangled name of the inlined function at this line, if known
};

class LineTable {
  public:
    /// `file` must outlive the table. Fails if the section is missing or compressed.
    static Result<LineTable> open(const elf::File& file);

    /// Returns the line, then the line of each inlining call, outwards. Returns nothing if the table does not
    /// cover the place. `section` 0 means no section.
    [[nodiscard]] std::vector<SourceLine> find(std::size_t section, std::uint64_t offset) const;

    /// Visits all rows with the path of their file. Returns false if damaged parts were skipped.
    bool each_row(const std::function<void(const LineRow&, const std::string& path)>& visitor) const;

  private:
    explicit LineTable(const elf::File& file) : file_(&file) {}
    [[nodiscard]] bool holds(const LineRow& row, std::uint64_t end, std::size_t section,
                             std::uint64_t offset) const;
    [[nodiscard]] std::vector<SourceLine> frames(const LineUnit& unit, LineRow row) const;

    const elf::File* file_;
    LineSections sections_;
    std::size_t only_code_ = 0;  // the section with instructions, if there is exactly one
};

}  // namespace aoti_dbg
