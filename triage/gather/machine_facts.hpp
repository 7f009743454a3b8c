// Facts about the machine for a report: versions, variables and system counters. It only reads files and
// omits what is missing. It must not start or load anything.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "triage/judge/evidence.hpp"

namespace aoti_dbg {

/// Return NVIDIA's driver version and all its devices, in its order. Empty without NVIDIA's /proc.
std::string driver_version();
NamedTexts machine_gpus();

/// Returns the path where a shell would find the program, or an empty path.
std::filesystem::path found_on_path(const std::string& program);

/// Returns the environment variables of this process that change what a model does, but none that could hold
/// a secret.
NamedTexts relevant_variables();

/// Returns how many processes the kernel killed in our control group for lack of memory.
std::optional<std::uint64_t> count_of_oom_kills();

}  // namespace aoti_dbg
