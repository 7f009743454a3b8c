// What the completions of all shells share.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "packaging/description.hpp"

namespace aoti_dbg::packaging {

/// Puts text into single quotes of a POSIX shell. It also works in zsh.
std::string shell_quoted(std::string_view text);

/// Returns all names of the options that take a value.
std::vector<std::string> names_with_value(const DescribedCommand& command);

std::vector<std::string> all_names(const DescribedCommand& command);

}  // namespace aoti_dbg::packaging
