// Prints one line to standard error: `aoti-dbg[pid:tid] warn: what failed: why. What we did. What to try`. An
// error has a code: `aoti-dbg[pid:tid] error AD3002: ...`. Each line is one write(2) of at most kMessageCap
// bytes and is built without allocating. It must not raise SIGPIPE or change errno. It must not write to a
// descriptor that was not standard error when the process started.
#pragma once

#include <cstddef>

#include "base/error_code.hpp"

namespace aoti_dbg {

enum class Severity { info, warn };

/// The longest line, including its newline. A longer line is cut and ends in "...".
inline constexpr std::size_t kMessageCap = 2048;

/// Takes a printf format. You may call it from any thread, under the loader's lock and in a forked child, but
/// not from a signal handler.
__attribute__((format(printf, 2, 3))) void message(Severity severity, const char* format, ...);
/// Does the same for an error that ends the command, the program or the library's work.
__attribute__((format(printf, 2, 3))) void error_message(ErrorCode code, const char* format, ...);

/// Writes all of `text` to `descriptor`. Continues after partial writes and EINTR. Never raises SIGPIPE or
/// SIGXFSZ and keeps errno. Returns 0, or the errno value of the failure (closed, full, would block).
int write_fully(int descriptor, const char* text, std::size_t length);
inline bool write_quietly(int descriptor, const char* text, std::size_t length) {
    return write_fully(descriptor, text, length) == 0;
}

/// Returns whether standard error or output was open when this library was loaded. If not, a descriptor that
/// has its number now belongs to the program. message() checks this itself. Returns true for any other
/// descriptor.
bool was_open_at_start(int descriptor);

}  // namespace aoti_dbg
