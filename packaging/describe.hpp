// Reads the description from the declared commands.
#pragma once

#include "cli/commands.hpp"
#include "packaging/description.hpp"

namespace aoti_dbg::packaging {

/// Hidden options and arguments are left out.
Description describe(const CLI::App& app, const cli::Commands& commands);

}  // namespace aoti_dbg::packaging
