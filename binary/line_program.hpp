// Runs the program of a unit of `.debug_line`, which makes the rows of its table. Takes any bytes, ends for
// any of them, allocates nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "binary/line_unit.hpp"

namespace aoti_dbg {

/// From its address on, up to that of the next row of its sequence.
struct LineRow {
    elf::Place place;  // section 0: the offset is an address of the program
    std::uint64_t file = 1;
    std::uint64_t line = 1;
    std::uint64_t number = 0;         // in its sequence, from 1 on
    std::uint64_t inlined_at = 0;     // number of the row of the call; 0: not inlined
    std::uint64_t function_name = 0;  // that was inlined: where in .debug_str
    bool ends_sequence = false;
    std::size_t sequence = 0;  // where in the section the sequence begins
};

/// Goes on while it returns true.
using LineVisitor = std::function<bool(const LineRow&)>;

/// From the beginning of the program or of a sequence on. False where the program is damaged; what it made up
/// to there was visited.
bool run_line_program(const LineSections& sections, const LineUnit& unit, std::size_t from,
                      const LineVisitor& visitor);

}  // namespace aoti_dbg
