// Reads a GPU fault for a report from the driver's core dumps below a folder.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "triage/judge/evidence.hpp"

namespace aoti_dbg {

/// Returns the fault from the first dump (`gpu*.core`) in the folder that was written since then and has one.
/// Adds doubts, and reasons why a dump has none, to `notes`.
std::optional<DeviceFault> device_fault(const std::string& folder, std::uint64_t since_unix_ns,
                                        std::vector<std::string>& notes);

/// Returns a kernel that was running when the driver was asked, from the first dump without a fault. Prefers
/// the first kernel that may be the launch named `expected`; otherwise returns the earliest launch.
std::optional<DeviceFault> running_kernel(const std::string& folder, std::uint64_t since_unix_ns,
                                          const std::string& expected, std::vector<std::string>& notes);

}  // namespace aoti_dbg
