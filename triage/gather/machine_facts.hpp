// What a report says of where the program ran: versions, variables, and what the system counted. Reads files
// only; what is not there is left out. Must start nothing and load nothing.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace aoti_dbg {

using NamedTexts = std::vector<std::pair<std::string, std::string>>;

/// Of NVIDIA, and all devices that it has, in its order; empty where there is no /proc of its.
std::string driver_version();
NamedTexts machine_gpus();

/// Where a shell would find it; empty where it would not.
std::filesystem::path found_on_path(const std::string& program);

/// Variables of this process's environment that change what a model does; none that could hold a secret.
NamedTexts relevant_variables();

/// How many processes the kernel has killed in our control group for want of memory.
std::optional<std::uint64_t> count_of_oom_kills();

}  // namespace aoti_dbg
