// What a process's map of allocations says of a fault or a failure: the memory at the address that a kernel
// could not reach, and whether a call failed for want of memory. Reads only.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "serializer/flight_ring_reader.hpp"
#include "serializer/tensor_map.hpp"
#include "triage/gather/recorded_processes.hpp"
#include "triage/judge/crash_report.hpp"

namespace aoti_dbg {

/// Calls of the process, as in the report.
struct ReportedCalls {
    std::optional<ring::Call>
        faulted;  // the launch of a fault on the device, where it is known when that was
    std::optional<ring::Call> failed;
    std::optional<ring::Call> last;  // to have begun
};

void add_memory_facts(const RecordedProcess& process, const ReportedCalls& calls, CrashReport& report);

/// The process's map of tensors; nothing where it kept none, or why it cannot be read, in `notes`.
std::optional<TensorMap> tensor_map_of(const RecordedProcess& process, std::vector<std::string>& notes);

}  // namespace aoti_dbg
