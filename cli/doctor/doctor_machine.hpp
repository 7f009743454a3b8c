// What variables, folders and limits of this process say, for `aoti-dbg doctor`. Reads, and starts nothing;
// to see whether a folder can be written, makes a file in it that has no name.
#pragma once

#include "cli/doctor/doctor_facts.hpp"
#include "config/options.hpp"

namespace aoti_dbg::cli {

/// Of the first Python that the PATH has.
PythonFacts python_facts();
InterposerFacts interposer_facts();
OutputFacts output_facts(const Options& options);
LimitFacts limit_facts(const Options& options, bool has_gpu);

}  // namespace aoti_dbg::cli
