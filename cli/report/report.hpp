// `aoti-dbg report`: what `aoti-dbg run --triage` tells at a program's end, of one that was armed by
// variables and ended with nobody waiting for it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace aoti_dbg::cli {

/// `folder` is an output folder. The report goes to standard output and into the folder. Returns the exit
/// code: 1 where there is none to make, or nothing was recorded there.
int report(const std::string& folder);

/// A process that comes to its end, by what it says itself.
struct EndingProcess {
    std::string folder;
    pid_t pid = 0;
    std::uint64_t since_unix_ns = 0;
    std::optional<int> status;  // as waitpid has it
    std::vector<std::string> command;
    bool is_start = false;  // and its folder is not below that of another process
};

/// Tells what `aoti-dbg run` would tell of it; nothing where all is well. It waits for us.
int report_end(const EndingProcess& process);

}  // namespace aoti_dbg::cli
