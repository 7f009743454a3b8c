// What the processes of a run left below its folder: flight rings, and findings in files of events. The files
// may contain any bytes; what cannot be read is skipped. It must never write.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "serializer/flight_ring_format.hpp"
#include "triage/judge/evidence.hpp"
#include "triage/judge/recorded_process.hpp"

namespace aoti_dbg {

/// Returns true if the process of a ring is running. Another process may have its number.
bool is_running(const ring::FileHeader& header);

/// Returns the processes that started since then, by start time.
std::vector<RecordedProcess> recorded_processes(const std::string& folder, std::uint64_t since_unix_ns);

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
                               const std::optional<RequestedCall>& requested, std::uint32_t model);

}  // namespace aoti_dbg
