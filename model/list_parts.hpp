// Lists as the wrapper source writes them: sizes, strides.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace aoti_dbg {

/// The parts of "{s77, 12L}", without the blanks around them; nothing where it is no such list, or one of
/// more than 64. Commas in brackets cut nothing.
std::optional<std::vector<std::string>> list_parts(std::string_view text);

}  // namespace aoti_dbg
