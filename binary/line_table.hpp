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

/// A range of addresses in a linked program with one line.
struct LineSpan {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::size_t unit = 0;    // where its unit starts in the section
    std::uint64_t file = 0;  // number in the unit
    std::uint64_t line = 0;
};

class LineTable {
  public:
    /// `file` must outlive the table. Fails if the section is missing or compressed.
    static Result<LineTable> open(const elf::File& file);

    /// Returns the line, then the line of each inlining call, outwards. Returns nothing if the table does not
    /// cover the place. `section` 0 means no section.
    [[nodiscard]] std::vector<SourceLine> find(std::size_t section, std::uint64_t offset) const;

    /// Returns the spans of a linked program that overlap the addresses from `begin` to `end`.
    [[nodiscard]] std::vector<LineSpan> spans(std::uint64_t begin, std::uint64_t end) const;

    /// Returns the path of a unit's file, or an empty path if the table does not have it.
    [[nodiscard]] std::string path(std::size_t unit, std::uint64_t file) const;

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
