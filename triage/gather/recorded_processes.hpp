// What the processes of a run left below its folder: flight rings, and findings in files of events. The files
// may contain any bytes; what cannot be read is skipped. It must never write.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "serializer/flight_ring_reader.hpp"
#include "serializer/process_file.hpp"
#include "triage/judge/crash_report.hpp"

namespace aoti_dbg {

/// A summary of one flight ring.
struct RecordedProcess {
    std::string ring;    // path of the ring
    std::string folder;  // of the process
    std::string program;
    std::uint32_t pid = 0;
    std::uint64_t start_unix_ns = 0;
    bool ended = false;                    // normally
    int signal = 0;                        // that ended it, if the library saw it; 0: none
    std::uint32_t signal_thread = 0;       // the thread that received it; 0: unknown
    std::optional<std::uint64_t> address;  // the accessed address that raised it
    bool is_running = false;
    bool is_replaced = false;  // by another program through exec, which is recorded as well
    bool has_open_calls = false;
    bool is_main_thread_inside = false;  // of a call
    bool has_failed_call = false;
    std::string failed_call;        // the first failed call, or a failed run if there is none
    bool has_dead_context = false;  // a launch returned an error that destroys the context
    bool uses_cuda = false;
    std::uint64_t failed_unix_ns = 0;  // time of that signal, else of the first such error; 0: unknown
    ProcessFacts facts;                // from its process.jsonl; the pid is 0 if there is none
    std::uint64_t runs = 0;
    std::uint64_t calls =
        0;  // without runs and loading; an upper bound if the ring overwrote the first calls

    /// True if it ended without a normal exit or a replacement.
    [[nodiscard]] bool has_vanished() const { return !ended && !is_running && !is_replaced; }
    /// True if it ended inside a call. Threads inside calls do not count if another thread exits the process
    /// normally.
    [[nodiscard]] bool died_inside() const {
        return !is_running && (ended ? is_main_thread_inside : has_open_calls);
    }
};

/// Returns the processes that started since then, by start time.
std::vector<RecordedProcess> recorded_processes(const std::string& folder, std::uint64_t since_unix_ns);

/// Returns the last one that is requested, or null if there is none.
template <typename Matches>
const RecordedProcess* last_of(const std::vector<RecordedProcess>& processes, Matches matches) {
    const auto found = std::find_if(processes.rbegin(), processes.rend(), matches);
    return found == processes.rend() ? nullptr : &*found;
}

/// Returns the requested process with the earliest known failure, or else the last requested one.
template <typename Matches>
const RecordedProcess* first_to_fail(const std::vector<RecordedProcess>& processes, Matches matches) {
    const RecordedProcess* first = nullptr;
    for (const RecordedProcess& process : processes)
        if (process.failed_unix_ns != 0 && matches(process) &&
            (first == nullptr || process.failed_unix_ns < first->failed_unix_ns))
            first = &process;
    return first != nullptr ? first : last_of(processes, matches);
}

/// A call whose arguments are requested.
struct RequestedCall {
    std::uint32_t pid = 0;
    std::uint64_t sequence = 0;
};

struct RecordedFinding {
    Finding finding;
    std::uint32_t pid = 0;  // of the process that recorded it
};

/// The contents of the files of events.
struct RecordedEvents {
    std::vector<RecordedFinding> findings;  // the first few
    std::uint64_t finding_count = 0;
    std::vector<CrashArgument> arguments;  // of the requested call, before it
    std::string model_name;                // of the model with the given number, in the requested call's
                                           // process
    std::string model_path;
};

inline constexpr std::size_t kFindingsKept = 10;

RecordedEvents recorded_events(const std::string& folder, std::uint64_t since_unix_ns,
                               const std::optional<RequestedCall>& wanted, std::uint32_t model);

}  // namespace aoti_dbg
