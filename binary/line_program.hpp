// Runs the program of a `.debug_line` unit, which produces the rows of its table. It accepts any bytes,
// always terminates, and must not allocate.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "binary/line_unit.hpp"

namespace aoti_dbg {

/// A row covers the addresses from its own up to that of the next row of its sequence.
struct LineRow {
    elf::Place place;  // section 0: the offset is a program address
    std::uint64_t file = 1;
    std::uint64_t line = 1;
    std::uint64_t number = 0;         // in its sequence, from 1
    std::uint64_t inlined_at = 0;     // number of the row of the call; 0: not inlined
    std::uint64_t function_name = 0;  // of the inlined function: offset in .debug_str
    bool ends_sequence = false;
    std::size_t sequence = 0;  // where in the section the sequence starts
};

/// Return true to continue.
using LineVisitor = std::function<bool(const LineRow&)>;

/// Runs from the start of the program or of a sequence. Returns false if the program is damaged, after
/// visiting the rows up to the damage.
bool run_line_program(const LineSections& sections, const LineUnit& unit, std::size_t from,
                      const LineVisitor& visitor);

}  // namespace aoti_dbg
