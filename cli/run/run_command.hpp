// `aoti-dbg run` on the command line: parses its flags and starts the program. Flags in the option table
// become variables.
#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <list>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "config/options_table.hpp"

namespace aoti_dbg::cli {

/// A flag that sets a variable, with its value as typed.
struct OptionFlag {
    const OptionInfo* info;
    std::string value;
    CLI::Option* option;
};

/// The flags of `run`, with their values as typed.
struct RunFlags {
    std::list<OptionFlag> options;
    std::string require;
    std::string error_exitcode;
    std::string annotate = "none";
    std::string junit;
};

void add_flags(CLI::App& app, RunFlags& flags);

/// Returns the index of the program in the arguments of `run`. All later arguments belong to the program.
Result<std::size_t> program_begin(const CLI::App& app, const std::vector<std::string>& arguments);

/// Runs the program and returns the exit code of the command.
int run_command(const RunFlags& flags, std::vector<std::string> program);

/// Prints what is wrong with the command line and returns the exit code for it.
int refuse_run(const std::string& fault);

}  // namespace aoti_dbg::cli
