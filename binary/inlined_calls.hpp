// Finds the calls that a compiler inlined into a function, with DWARF 2 to 5 in a linked program. It accepts
// any bytes. A line table alone does not have them: it names the line inside the inlined function.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "binary/elf_reader.hpp"

namespace aoti_dbg {

/// A range of code that came from a call.
struct InlinedCall {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::uint64_t file = 0;  // number of the caller's file in the line unit
    std::uint64_t line = 0;  // of the call
    std::size_t unit = 0;    // where its line unit starts in .debug_line
};

/// Returns the calls that the function at `address` makes itself, not those inside them. Returns nothing if
/// the file does not say, or if its sections are compressed.
std::vector<InlinedCall> inlined_calls(const elf::File& file, std::uint64_t address);

}  // namespace aoti_dbg
