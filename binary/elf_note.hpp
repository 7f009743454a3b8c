// Finds a note in an ELF file (System V ABI, generic part, chapter 5). It accepts any bytes and copies
// nothing.
#pragma once

#include <optional>
#include <string_view>

#include "binary/elf_reader.hpp"

namespace aoti_dbg::elf {

/// Returns the text of the first note with that owner in that section, up to its first zero byte. Returns
/// nothing if there is no such note, or if it is damaged.
std::optional<std::string_view> note_text(const File& file, std::string_view section, std::string_view owner);

}  // namespace aoti_dbg::elf
