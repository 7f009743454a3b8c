// Finds launches that cannot be replayed because tensors that they read are not saved.
#pragma once

#include <string>
#include <vector>

#include "cli/replay/launch_files.hpp"

namespace aoti_dbg::cli {

/// Removes such launches from those of one recording. Returns a sentence about them without its period, or an
/// empty text if there are none.
std::string remove_without_inputs(std::vector<LaunchFile>& files);

}  // namespace aoti_dbg::cli
