// Reports a run that has ended: the crash report and the files that CI systems read. A failed write is only a
// warning. It must not change how the program ends.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cli/run/run_result.hpp"
#include "config/options.hpp"
#include "triage/judge/ended_run.hpp"

namespace aoti_dbg::cli {

/// The outputs that a run requested.
struct Audience {
    bool triage = false;                     // a report in the directory and on standard error
    bool hangs = false;                      // the same, only for a hang
    bool keeps_dump = false;                 // the driver's core dump behind the report
    bool summary = false;                    // one line, for every run
    bool github = false;                     // annotations on standard error, which GitHub also reads
    std::string junit;                       // a file; empty if none
    std::string verdict_file;                // the file to append the verdict to; empty if none
    std::uint64_t max_reports = UINT64_MAX;  // in directories beside that of the run

    [[nodiscard]] bool any() const { return triage || hangs || summary || github || !junit.empty(); }
};

/// Derives the outputs from the options.
Audience audience_of(const Options& options);

/// Returns the number of findings. A GPU fault that the program did not see counts as one, and so does a
/// crash below a program that exited with 0. `requirement` is the result of --require.
std::uint64_t report_run(const EndedRun& run, const Audience& audience, const RequirementResult& requirement);

/// Prints the path of report.json, or nothing if it is empty.
void say_where(const std::string& report_path);

/// Reports a program that was asked to end and still runs, if it hangs. Returns the path of report.json,
/// empty if it could not be written, and nothing if there is no report.
std::optional<std::string> report_hang(const EndedRun& run, const Audience& audience);

}  // namespace aoti_dbg::cli
