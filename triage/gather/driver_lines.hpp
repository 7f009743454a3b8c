// What the driver logged about the reported calls of a process. It must not write.
#pragma once

#include <vector>

#include "serializer/flight_ring_reader.hpp"
#include "triage/gather/recorded_processes.hpp"
#include "triage/judge/evidence.hpp"

namespace aoti_dbg {

/// Adds the lines that the driver logged inside one of the calls, in its thread.
void add_driver_lines(const RecordedProcess& process, const std::vector<ring::Call>& calls,
                      Evidence& evidence);

}  // namespace aoti_dbg
