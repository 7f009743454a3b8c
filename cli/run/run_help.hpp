// The help of `aoti-dbg run`: one line per option, grouped. docs/reference/options.md has the details.
#pragma once

#include <string>

namespace aoti_dbg::cli {

enum class HelpScreen { common, all };

/// At most 80 columns wide. The common screen has at most 45 lines.
std::string run_help(HelpScreen screen);

}  // namespace aoti_dbg::cli
