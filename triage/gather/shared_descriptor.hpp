// Descriptors of this process that the processes it starts open by name, below /proc, instead of inheriting
// them: the tally, and a library whose path LD_PRELOAD cannot carry. The names hold as long as we live.
#pragma once

#include <optional>
#include <string>

namespace aoti_dbg {

/// `/proc/<our pid>/fd/<descriptor>`; nothing where that does not lead to it, as without /proc or with that
/// of other processes' numbers.
std::optional<std::string> path_for_others(int descriptor);

}  // namespace aoti_dbg
