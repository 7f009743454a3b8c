#pragma once

#include <string>
#include <string_view>

namespace aoti_dbg {

/// Returns the source name of a mangled symbol. Returns any other name unchanged.
std::string readable_symbol(std::string_view symbol);

}  // namespace aoti_dbg
