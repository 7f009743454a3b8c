// What it takes to repeat a run that is reported: our own name for a shell, the flags that were given, the
// program's working directory and variables. Reads the environment and /proc only.
#pragma once

#include "cli/surroundings.hpp"
#include "serializer/crash_report.hpp"

namespace aoti_dbg::cli {

/// `variables` are those that the program was started with, as telling_variables() has them.
void add_repeating(const NamedTexts& variables, const std::string& working_folder, CrashReport& report);

/// Of this process; empty where nobody knows.
std::string working_folder();

}  // namespace aoti_dbg::cli
