// The list of commands of aoti-dbg. The program parses with them, and packaging/ describes them. Must not
// parse or run anything.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/command.hpp"

namespace aoti_dbg::cli {

using Commands = std::vector<std::unique_ptr<Command>>;

/// Returns the commands in the order of the help.
Commands all_commands();

/// Declares the options of `aoti-dbg` itself and all commands. --version prints `version`.
AppPointer declare_all(const Commands& commands, const std::string& version);

}  // namespace aoti_dbg::cli
