// Whether LD_PRELOAD can reach what a command line would execute, found out before it is executed.
// Reads files and nothing else, and takes any bytes: what is malformed has no finding.
#pragma once

#include <sys/types.h>

#include <string>

namespace aoti_dbg::cli {

enum class Obstacle {
    none,
    statically_linked,
    other_machine,
    secure_execution,  // setuid, setgid or file capabilities: the loader ignores LD_PRELOAD
    other_loader,      // not glibc's: it would refuse the library, and the program would not start
};

struct Finding {
    Obstacle obstacle = Obstacle::none;
    std::string file;    // the program that it is about; the interpreter, where a script was named
    std::string why;     // goes on behind the file: "is statically linked"
    std::string advice;  // what to try
};

/// Who executes the program, as far as it matters to the kernel.
struct Caller {
    uid_t user = 0;
    gid_t group = 0;
    bool may_gain_rights = true;
    std::string path;  // where programs are looked for

    /// This process; without PATH, what execvp() takes then.
    static Caller current();
};

/// The file that execvp() would take for `program`; empty where there is none.
std::string executed_file(const std::string& program, const Caller& caller);

/// What keeps the library out of `program`. Follows `#!` lines, also through `env`, to the interpreter.
Finding find_obstacle(const std::string& program, const Caller& caller);

}  // namespace aoti_dbg::cli
