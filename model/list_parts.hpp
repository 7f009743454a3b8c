// Reads lists in the wrapper source, such as sizes and strides.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace aoti_dbg {

/// Returns the parts of "{s77, 12L}" without surrounding blanks. Returns nothing for other text or more than
/// 64 parts. Commas in brackets do not separate.
std::optional<std::vector<std::string>> list_parts(std::string_view text);

}  // namespace aoti_dbg
