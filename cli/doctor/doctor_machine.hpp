// Reads variables, directories and limits of this process for `aoti-dbg doctor`. It must not start a process.
// To test whether a directory is writable, it creates an unnamed file there.
#pragma once

#include "cli/doctor/doctor_facts.hpp"
#include "config/options.hpp"

namespace aoti_dbg::cli {

/// Describes the first Python in PATH.
PythonFacts python_facts();
InterposerFacts interposer_facts();
OutputFacts output_facts(const Options& options);
LimitFacts limit_facts(const Options& options, bool has_gpu);

}  // namespace aoti_dbg::cli
