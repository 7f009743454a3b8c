// What a run came to, seen from outside after its end: which process is to be told of, and all that its ring,
// the events and the kept sources say. Reads only; report_files writes.
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
    std::string folder;               // for its output; it may not exist
    std::uint64_t start_unix_ns = 0;  // before the program began
    pid_t pid = -1;
    int status = 0;                          // as waitpid says
    std::optional<std::uint64_t> oom_kills;  // meanwhile
    bool has_status = true;                  // false: nobody waited for it, or it still runs
    int stopped_by = 0;                      // a signal that was to end it, sent while it ran; 0: none
    std::uint64_t stopped_unix_ns = 0;       // when
    bool asks_itself = false;                // at its end, and is there until it has its answer
    std::optional<Seen> seen;                // what its processes counted, whatever they could write
    // The path of report.json where one was made while it ran, empty where it could not be written.
    std::optional<std::string> earlier_report;
};

struct Triage {
    CrashReport report;  // concluded
    // It ended by a fatal signal, by a failure of a call or inside one, or has findings.
    bool is_worth_reporting = false;
    std::vector<aoti_dbg::Finding> findings;  // the first few
};

Triage inspect(const EndedRun& run);

}  // namespace aoti_dbg
