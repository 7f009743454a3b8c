// One line to the person at the terminal: `aoti-dbg[pid:tid] warn: what failed: why. What we did. What to
// try`. An error has a code: `aoti-dbg[pid:tid] error AD3002: ...`. Each line is one write(2) of at most
// kMessageCap bytes, made without allocating. It must not raise SIGPIPE, change errno, or write to a
// descriptor that was not standard error when the process started.
#pragma once

#include <cstddef>

#include "base/error_code.hpp"

namespace aoti_dbg {

enum class Severity { info, warn };

/// Longest line, newline included; longer ones are cut and end in "...".
inline constexpr std::size_t kMessageCap = 2048;

/// printf-style. Safe from any thread, under the loader's lock and in a forked child; not from a signal
/// handler.
__attribute__((format(printf, 2, 3))) void message(Severity severity, const char* format, ...);
/// Likewise, for what ends the command, the program, or the library's work.
__attribute__((format(printf, 2, 3))) void error_message(ErrorCode code, const char* format, ...);

/// Writes all of `text` to `descriptor`, over partial writes and EINTR, without ever raising SIGPIPE or
/// SIGXFSZ. Keeps errno. Returns 0, or the errno value of why not all is written (closed, full, would block).
int write_fully(int descriptor, const char* text, std::size_t length);
inline bool write_quietly(int descriptor, const char* text, std::size_t length) {
    return write_fully(descriptor, text, length) == 0;
}

/// Whether standard error or output was open when this library was loaded; if not, what now stands at its
/// number belongs to the program. message() asks this itself. True for any other descriptor.
bool was_open_at_start(int descriptor);

}  // namespace aoti_dbg
