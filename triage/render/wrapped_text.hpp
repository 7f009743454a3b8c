// Lines of a given width, for the pages and help texts of the command.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace aoti_dbg {

/// Returns clean text in lines of at most `width` characters, broken at blanks. A longer word stays whole on
/// a line of its own, so that a name can be copied and searched.
std::vector<std::string> wrapped(std::string_view text, std::size_t width);

}  // namespace aoti_dbg
