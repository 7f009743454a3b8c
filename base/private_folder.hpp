// Where files go when the folder that was chosen cannot be had: whether a folder has room, and a fresh one of
// ours alone below the places for temporary files. Must not follow a link that somebody else has laid, and
// must leave nothing behind of what it tries.
#pragma once

#include <cstddef>
#include <string>

#include "base/status.hpp"

namespace aoti_dbg {

/// Whether a file of so many bytes can be made at `path`, a folder or the name of one that would have to be
/// made. Makes none.
Status has_room(const std::string& path, std::size_t bytes);

/// A new folder (0700), by a name that nobody can know before, below $TMPDIR, /dev/shm or /tmp: the first of
/// them with so much room, else the first with `least`. Returns its absolute path.
Result<std::string> make_private_folder(std::size_t bytes, std::size_t least);

/// Removes a folder with all that lies in it, links as links. Allocates nothing, and goes no deeper than the
/// folders of our own output do.
void remove_private_folder(const char* path);

}  // namespace aoti_dbg
