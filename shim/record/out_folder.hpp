// The one folder that everything of a process goes to: AOTI_DBG_OUT, made when something is first written.
#pragma once

#include <string>
#include <string_view>

#include "base/status.hpp"
#include "config/options.hpp"
#include "config/pattern.hpp"

namespace aoti_dbg {

/// Expands the pattern (an anchored one) for the start of the tree, makes the folder and those above it
/// (0700), and with the default pattern points `aoti_dbg/latest` at it. A process that is not the start has
/// `own_name` below that, unless it is empty. Returns the absolute path of its folder. An existing folder is
/// used as it is. Fails where there are not `room` bytes of it; 0: any will do.
Result<std::string> make_out_folder(const Options& options, const Origin& start, const std::string& own_name,
                                    std::size_t room = 0);

}  // namespace aoti_dbg
