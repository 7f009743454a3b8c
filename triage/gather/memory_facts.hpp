// Facts from a process's map of allocations about a fault or a failure: the memory at the inaccessible
// address, and whether a call failed for lack of memory. It must not write.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "serializer/flight_ring_reader.hpp"
#include "serializer/tensor_map.hpp"
#include "triage/gather/recorded_processes.hpp"
#include "triage/judge/evidence.hpp"

namespace aoti_dbg {

/// Calls of the process that the report names.
struct ReportedCalls {
    std::optional<ring::Call> faulted;  // the launch of a device fault, if its time is known
    std::optional<ring::Call> failed;
    std::optional<ring::Call> last;  // the last to begin
};

void add_memory_facts(const RecordedProcess& process, const ReportedCalls& calls, Evidence& evidence);

/// Returns the process's map of tensors. Returns nothing if it has none, or notes why it cannot be read.
std::optional<TensorMap> tensor_map_of(const RecordedProcess& process, std::vector<std::string>& notes);

}  // namespace aoti_dbg
