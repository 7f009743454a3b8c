// The one folder that everything of a process goes to: AOTI_DBG_OUT, made when something is first written.
#pragma once

#include <string>
#include <string_view>

#include "base/status.hpp"
#include "config/options.hpp"

namespace aoti_dbg {

/// Expands the pattern (an anchored one), makes the folder and those above it (0700), and with the default
/// pattern points `aoti_dbg/latest` at it. Returns its absolute path. An existing folder is used as it is.
Result<std::string> make_out_folder(const Options& options);

/// A relative pattern put behind the working directory, which programs change later.
std::string anchored_pattern(const std::string& pattern);

}  // namespace aoti_dbg
