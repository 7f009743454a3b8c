// What the timeline says of the devices that the process can use. It must not need a context.
#pragma once

#include <vector>

#include "serializer/timeline_jsonl.hpp"
#include "shim/runtime/driver_api.hpp"

namespace aoti_dbg {

/// Throws if memory runs out.
std::vector<TimelineDevice> timed_devices(const DriverApi& api);

}  // namespace aoti_dbg
