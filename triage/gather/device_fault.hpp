// What the driver's core dumps below a folder tell of a fault on a GPU, as a report has it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "triage/judge/crash_report.hpp"

namespace aoti_dbg {

/// Of the first dump (`gpu*.core`) in the folder that was written since then and tells of one. What makes it
/// less certain, or why a dump tells nothing, is added to `notes`.
std::optional<DeviceFault> device_fault(const std::string& folder, std::uint64_t since_unix_ns,
                                        std::vector<std::string>& notes);

/// Of the first dump that tells of no fault, of the kernels that were on a device when the driver was asked:
/// the first that may be that of the launch named `wanted`; where there is none, that which was launched
/// first.
std::optional<DeviceFault> running_kernel(const std::string& folder, std::uint64_t since_unix_ns,
                                          const std::string& wanted, std::vector<std::string>& notes);

}  // namespace aoti_dbg
