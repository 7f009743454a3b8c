// What the driver's core dumps below a folder tell of a fault on a GPU, as a report has it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "serializer/crash_report.hpp"

namespace aoti_dbg::cli {

/// Of the first dump (`gpu*.core`) in the folder that was written since then and tells of one. What makes it
/// less certain, or why a dump tells nothing, is added to `notes`.
std::optional<DeviceFault> device_fault(const std::string& folder, std::uint64_t since_unix_ns,
                                        std::vector<std::string>& notes);

}  // namespace aoti_dbg::cli
