// Finds out whether LD_PRELOAD can reach the program of a command line, before it runs. It only reads files
// and accepts any bytes. A malformed file yields no obstacle.
#pragma once

#include <sys/types.h>

#include <string>

namespace aoti_dbg::cli {

enum class Obstacle {
    none,
    statically_linked,
    other_machine,
    secure_execution,  // setuid, setgid or file capabilities: the loader ignores LD_PRELOAD
    other_loader,      // not glibc's: it would reject the library, and the program would not start
};

struct FoundObstacle {
    Obstacle obstacle = Obstacle::none;
    std::string file;    // the program, or the interpreter if a script was named
    std::string why;     // continues the sentence after the file: "is statically linked"
    std::string advice;  // what to try
};

/// The caller's credentials, as far as the kernel uses them for execution.
struct Caller {
    uid_t user = 0;
    gid_t group = 0;
    bool may_gain_rights = true;
    std::string path;  // the search path for programs

    /// Describes this process. Without PATH, it uses the default of execvp().
    static Caller current();
};

/// Returns the file that execvp() would execute for `program`, or an empty string if there is none.
std::string executed_file(const std::string& program, const Caller& caller);

/// Returns what prevents the library from loading into `program`. Follows `#!` lines, also through `env`, to
/// the interpreter.
FoundObstacle find_obstacle(const std::string& program, const Caller& caller);

}  // namespace aoti_dbg::cli
