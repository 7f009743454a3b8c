// The list of commands of aoti-dbg. The program parses with them, and packaging/ describes them. Must not
// parse or run anything.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "cli/command.hpp"

namespace aoti_dbg::cli {

inline constexpr const char* kDescription = "Show what AOTInductor models do, on the unchanged binary.";

using Commands = std::vector<std::unique_ptr<Command>>;

/// Returns the commands in the order of the help.
Commands all_commands();

/// Declares the options of `aoti-dbg` itself and all commands. --version prints `version`.
void declare_all(CLI::App& app, const Commands& commands, const std::string& version);

}  // namespace aoti_dbg::cli
