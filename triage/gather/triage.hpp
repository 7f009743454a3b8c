// Analyzes a run from outside after its exit. It selects the process to report and gathers what its ring, its
// events and the kept sources say. It must not write; report_files does.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "triage/gather/tally_page.hpp"
#include "triage/judge/crash_report.hpp"

namespace aoti_dbg {

/// A program that was started and has ended.
struct EndedRun {
    std::vector<std::string> command;
    std::string folder;               // for its output; may not exist
    std::uint64_t start_unix_ns = 0;  // before the program started
    pid_t pid = -1;
    int status = 0;                          // from waitpid
    std::optional<std::uint64_t> oom_kills;  // during the run
    bool has_status = true;                  // false: its exit is unknown, or it still runs
    int stopped_by = 0;                      // the signal sent to end it while it ran; 0: none
    std::uint64_t stopped_unix_ns = 0;       // when it was sent
    bool asks_itself = false;                // the process requests its own report at exit and waits for it
    std::optional<Seen> seen;                // what its processes counted, even if they could not write
    // The path of the report.json created while it ran; empty if it could not be written.
    std::optional<std::string> earlier_report;
};

struct Triage {
    CrashReport report;  // after conclude()
    // It ended by a fatal signal, by a failed call or inside a call, or it has findings.
    bool is_worth_reporting = false;
    std::vector<aoti_dbg::Finding> findings;  // the first few
};

Triage inspect(const EndedRun& run);

}  // namespace aoti_dbg
