// What the GPUs of the machine themselves count of broken memory, asked of NVIDIA's management library where
// it is there: a fault on a GPU that has such errors may be the hardware's.
#pragma once

#include <string>
#include <vector>

namespace aoti_dbg {

/// `aoti-dbg doctor --child` with this trial prints them.
inline constexpr char kCountersTrial[] = "counters";

/// A clause a GPU that has anything to tell. May never come back, where a GPU is broken.
std::vector<std::string> troubles_of_gpus();

}  // namespace aoti_dbg
