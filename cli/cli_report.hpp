// `aoti-dbg report`: what `aoti-dbg run --triage` tells at a program's end, of one that was armed by
// variables and ended with nobody waiting for it.
#pragma once

#include <string>

namespace aoti_dbg::cli {

/// `folder` is an output folder. The report goes to standard output and into the folder. Returns the exit
/// code: 1 where there is none to make, or nothing was recorded there.
int report(const std::string& folder);

}  // namespace aoti_dbg::cli
