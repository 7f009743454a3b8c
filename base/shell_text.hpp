// Quotes command lines for a shell.
#pragma once

#include <string>
#include <vector>

namespace aoti_dbg {

/// Quotes `words` so that a shell takes them literally.
std::string shell_text(const std::vector<std::string>& words);

}  // namespace aoti_dbg
