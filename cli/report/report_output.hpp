// What is told of a run that has ended, besides its exit code: the report of a crash, and what CI systems
// read. Whatever cannot be written is a warning; the program's end is never changed by it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cli/run/run_result.hpp"
#include "config/options.hpp"
#include "triage/gather/triage.hpp"

namespace aoti_dbg::cli {

/// Where it is to be told.
struct Audience {
    bool triage = false;                     // a report in the folder and on standard error
    bool hangs = false;                      // the same, of a hang alone
    bool keeps_dump = false;                 // the driver's, of which the report was made
    bool summary = false;                    // one line, whatever the end was
    bool github = false;                     // annotations, on standard error, which it reads as well
    std::string junit;                       // a file; empty: none
    std::string verdict_file;                // the verdict is appended; empty: none
    std::uint64_t max_reports = UINT64_MAX;  // in folders beside that of the run

    [[nodiscard]] bool any() const { return triage || hangs || summary || github || !junit.empty(); }
};

/// What the options ask for.
Audience audience_of(const Options& options);

/// Returns how many findings there were; a fault on the GPU that the program did not see is one, and so is a
/// crash below a program that ended well.
/// `requirement` is what became of --require.
std::uint64_t tell(const EndedRun& run, const Audience& audience, const RequirementResult& requirement);

/// By the path of report.json; nothing where that is empty.
void say_where(const std::string& report_path);

/// Of a program that is to end and still runs: the report, should it hang. Returns the path of report.json,
/// empty where it could not be written; nothing where there is no report.
std::optional<std::string> report_hang(const EndedRun& run, const Audience& audience);

}  // namespace aoti_dbg::cli
