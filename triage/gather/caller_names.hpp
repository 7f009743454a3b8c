// Resolves code locations in program files to function names with the file's own symbol tables. A file may be
// missing or have changed since.
#pragma once

#include <string>
#include <vector>

namespace aoti_dbg {

/// Turns "/usr/lib/libc.so.6+0x98d61" into "__read (libc.so.6+0x98d61)", or drops only the directory if there
/// is no name. Removes locations in our own library, because they are not callers.
void name_callers(std::vector<std::string>& callers);

}  // namespace aoti_dbg
