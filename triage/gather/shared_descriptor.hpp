// Descriptors of this process that child processes open by name below /proc instead of inheriting them: the
// tally, and a library whose path LD_PRELOAD cannot carry. The names are valid while this process lives.
#pragma once

#include <optional>
#include <string>

namespace aoti_dbg {

/// Returns `/proc/<our pid>/fd/<descriptor>`. Returns nothing if that path does not lead to the descriptor,
/// as without /proc or with another pid namespace's /proc.
std::optional<std::string> path_for_others(int descriptor);

}  // namespace aoti_dbg
