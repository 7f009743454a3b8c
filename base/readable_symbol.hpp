#pragma once

#include <string>
#include <string_view>

namespace aoti_dbg {

/// What the source calls the function of a mangled symbol; of any other name that name.
std::string readable_symbol(std::string_view symbol);

}  // namespace aoti_dbg
