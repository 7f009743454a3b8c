// Reads files that other programs may have written or replaced.
#pragma once

#include <cstdint>
#include <string>

#include "base/descriptor.hpp"
#include "base/status.hpp"

namespace aoti_dbg {

/// Opens a file to read it. A named pipe does not block the call, and no terminal becomes the process's own.
Descriptor open_to_read(const std::string& path);

/// Fills `text` to its size, or shortens it if the file ends first. Returns false and sets errno if a read
/// fails.
bool read_fully(int descriptor, std::string& text);

/// Returns the contents of a regular file as large as it is now, at most `most` bytes. `what` names the
/// expected contents in the error, as in "a map of allocations".
Result<std::string> read_regular_file(const std::string& path, const char* what, std::uint64_t most);

}  // namespace aoti_dbg
