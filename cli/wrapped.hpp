#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace aoti_dbg::cli {

/// Appends `text` in lines of at most `width` characters, broken at blanks. The first line begins with
/// `first`, the others with `indent`. A longer word gets a line of its own.
void append_wrapped(std::string_view first, std::string_view indent, std::string_view text, std::size_t width,
                    std::string& out);

}  // namespace aoti_dbg::cli
