// Fallback for an output directory that cannot be used. It checks for space and creates a private directory
// below a directory for temporary files. Must not follow a link that another user placed. Must not leave any
// of its probes behind.
#pragma once

#include <cstddef>
#include <string>

#include "base/status.hpp"

namespace aoti_dbg {

/// Checks that a file of `bytes` bytes can be created at `path`. `path` is a directory or the name of one
/// that does not exist yet. Creates nothing that stays.
Status has_room(const std::string& path, std::size_t bytes);

/// Creates a directory (mode 0700) with an unpredictable name below $TMPDIR, /dev/shm or /tmp. Uses the first
/// of them that has room for `bytes`, else the first that has room for `least`. Returns the absolute path.
Result<std::string> make_private_folder(std::size_t bytes, std::size_t least);

/// Removes a directory and its contents. Removes links without following them. Allocates nothing and goes
/// only as deep as the directories of our own output.
void remove_private_folder(const char* path);

}  // namespace aoti_dbg
