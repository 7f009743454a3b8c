// The captured launches that a command line selects.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/replay/launch_files.hpp"
#include "config/window.hpp"

namespace aoti_dbg::cli {

/// Reads the values of --runs and --calls. An empty one changes nothing.
Status parse_selection(const std::string& runs_text, const std::string& calls_text, Window& runs,
                       Window& calls);

/// Returns the launches of an output directory, of a bundle, or of one file. Prints an error if there is
/// none, or if a part of a bundle that they need is damaged.
std::optional<std::vector<LaunchFile>> selected_launches(const std::string& place, const Window& runs,
                                                         const Window& calls);

}  // namespace aoti_dbg::cli
