// The folder for all output of a process, AOTI_DBG_OUT. It is created when the process first writes
// something.
#pragma once

#include <string>
#include <string_view>

#include "base/status.hpp"
#include "config/options.hpp"
#include "config/pattern.hpp"

namespace aoti_dbg {

/// Expands the anchored pattern for the start of the process tree, and creates the folder and its parents
/// (0700). With the default pattern, `aoti_dbg/latest` then points to it. A process that is not the start
/// uses the subfolder `own_name`, unless that is empty.
///
/// Returns the absolute path. Uses an existing folder as it is. Fails if the disk has less than `room` bytes;
/// 0 means any amount is enough.
Result<std::string> make_out_folder(const Options& options, const Origin& start, const std::string& own_name,
                                    std::size_t room = 0);

}  // namespace aoti_dbg
