// Names for places in files of programs: which function it is, by the file's own tables. A file may be gone,
// or be another one by now.
#pragma once

#include <string>
#include <vector>

namespace aoti_dbg {

/// "/usr/lib/libc.so.6+0x98d61" becomes "__read (libc.so.6+0x98d61)"; without a name only the folder goes.
/// Those in our own library are left out: they are no callers.
void name_callers(std::vector<std::string>& callers);

}  // namespace aoti_dbg
