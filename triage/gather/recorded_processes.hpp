// What the processes of a run left below its folder: flight rings, and findings in files of events. Any bytes
// may stand there; what cannot be read is passed over. Must never write.
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

/// One flight ring, in short.
struct RecordedProcess {
    std::string ring;    // its path
    std::string folder;  // of the process
    std::string program;
    std::uint32_t pid = 0;
    std::uint64_t start_unix_ns = 0;
    bool ended = false;                    // in good order
    int signal = 0;                        // that ended it, as far as the library saw that; 0: none
    std::uint32_t signal_thread = 0;       // to which it came; 0: not known
    std::optional<std::uint64_t> address;  // whose access it came of
    bool is_running = false;
    bool is_replaced = false;  // by another program, which is recorded as well
    bool has_open_calls = false;
    bool is_main_thread_inside = false;  // of a call
    bool has_failed_call = false;
    std::string failed_call;        // the first of them that is no run, else a run
    bool has_dead_context = false;  // a launch returned an error that no context survives
    bool uses_cuda = false;
    std::uint64_t failed_unix_ns = 0;  // that signal, else the first such error; 0: not known
    ProcessFacts facts;                // what it says of itself; its pid is 0 where that is nothing
    std::uint64_t runs = 0;
    std::uint64_t calls =
        0;  // runs and loading are none; at most, where the ring has lost the first of these

    /// Whether it is gone without a word.
    [[nodiscard]] bool has_vanished() const { return !ended && !is_running && !is_replaced; }
    /// Whether it ended in a call; threads that are inside of calls while another ends the process in good
    /// order are none of its business.
    [[nodiscard]] bool died_inside() const {
        return !is_running && (ended ? is_main_thread_inside : has_open_calls);
    }
};

/// Those that started since `since`, in the order of their starts.
std::vector<RecordedProcess> recorded_processes(const std::string& folder, std::uint64_t since_unix_ns);

/// The last of them that is wanted; null where none is.
template <typename IsRequested>
const RecordedProcess* last_of(const std::vector<RecordedProcess>& processes, IsRequested is_requested) {
    const auto found = std::find_if(processes.rbegin(), processes.rend(), is_requested);
    return found == processes.rend() ? nullptr : &*found;
}

/// The one of them that failed first, of those of which it is known when; else the last of all.
template <typename IsRequested>
const RecordedProcess* first_to_fail(const std::vector<RecordedProcess>& processes,
                                     IsRequested is_requested) {
    const RecordedProcess* first = nullptr;
    for (const RecordedProcess& process : processes)
        if (process.failed_unix_ns != 0 && is_requested(process) &&
            (first == nullptr || process.failed_unix_ns < first->failed_unix_ns))
            first = &process;
    return first != nullptr ? first : last_of(processes, is_requested);
}

/// One call that somebody wants to know the arguments of.
struct RequestedCall {
    std::uint32_t pid = 0;
    std::uint64_t sequence = 0;
};

struct RecordedFinding {
    Finding finding;
    std::uint32_t pid = 0;  // of the process that has it
};

/// What files of events tell.
struct RecordedEvents {
    std::vector<RecordedFinding> findings;  // the first few
    std::uint64_t finding_count = 0;
    std::vector<CrashArgument> arguments;  // of the wanted call, before it
    std::string model_name;                // of the model with that number, in the wanted call's process
    std::string model_path;
};

inline constexpr std::size_t kFindingsKept = 10;

RecordedEvents recorded_events(const std::string& folder, std::uint64_t since_unix_ns,
                               const std::optional<RequestedCall>& wanted, std::uint32_t model);

}  // namespace aoti_dbg
