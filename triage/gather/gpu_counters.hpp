// Memory errors that the machine's GPUs count, queried from NVIDIA's management library if it is installed. A
// fault on such a GPU may be a hardware failure.
#pragma once

#include <string>
#include <vector>

namespace aoti_dbg {

/// `aoti-dbg doctor --child` prints them for this trial.
inline constexpr char kCountersTrial[] = "counters";

/// Returns one clause per GPU with errors. May never return if a GPU is broken.
std::vector<std::string> troubles_of_gpus();

}  // namespace aoti_dbg
