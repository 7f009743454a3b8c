// One process of a run, as its flight ring and its own file sum it up. Plain data.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "serializer/process_file.hpp"

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

}  // namespace aoti_dbg
