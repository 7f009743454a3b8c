// What `aoti-dbg --version` prints. It depends only on the build, not on the machine.
#pragma once

#include <string>

namespace aoti_dbg::cli {

/// The commit of the sources. Each build generates its definition (cmake/commit.cmake).
extern const char* const kCommit;

/// The first line is "aoti-dbg VERSION (COMMIT)", which scripts may parse.
std::string version_text();

}  // namespace aoti_dbg::cli
