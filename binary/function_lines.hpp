// The source lines of one function of a linked program, prepared for looking up return addresses: one line
// for each byte of code. It accepts any bytes. It needs no file afterwards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "binary/elf_reader.hpp"

namespace aoti_dbg {

struct FunctionLines {
    std::uint64_t address = 0;         // in the file
    std::string file;                  // that defines the function, as the line table spells it
    std::vector<std::uint32_t> lines;  // of that file, by offset from `address`; 0: unknown

    [[nodiscard]] bool empty() const { return lines.empty(); }
    /// Returns the line of the call that returns to this offset, or 0 if it is unknown. For an inlined
    /// function, it is the line of the outermost call.
    [[nodiscard]] std::uint32_t line_before(std::uint64_t offset) const {
        return offset == 0 || offset > lines.size() ? 0 : lines[offset - 1];
    }
};

/// Reads the first function whose symbol starts with `symbol`. Fails if there is none, or no line table.
Result<FunctionLines> lines_of_function(const elf::File& file, std::string_view symbol);

}  // namespace aoti_dbg
