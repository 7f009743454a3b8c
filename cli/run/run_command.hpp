// `aoti-dbg run` on the command line: reads its flags and starts the program. Flags of the table of options
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

/// A flag that sets a variable, with the value that was typed.
struct OptionFlag {
    const OptionInfo* info;
    std::string value;
    CLI::Option* option;
};

/// The flags of `run`, with the values that were typed.
struct RunFlags {
    std::list<OptionFlag> options;
    std::string require;
    std::string error_exitcode;
    std::string annotate = "none";
    std::string junit;
};

void add_flags(CLI::App& app, RunFlags& flags);

/// Where the program begins in the arguments of `run`. Everything behind that belongs to the program.
Result<std::size_t> program_begin(const CLI::App& app, const std::vector<std::string>& arguments);

/// Runs the program. Returns the exit code of the command.
int run_command(const RunFlags& flags, std::vector<std::string> program);

/// Prints what is wrong with the command line. Returns the exit code for it.
int refuse_run(const std::string& fault);

}  // namespace aoti_dbg::cli
