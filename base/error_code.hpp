// The codes of errors that end the command, the program or the library's work. serializer/codes.def explains
// each code. A number is never reused.
#pragma once

#define AOTI_DBG_ERROR_CODES(X)      \
    X(wrong_usage, 3001)             \
    X(nothing_recorded, 3002)        \
    X(unreadable_recording, 3003)    \
    X(no_match, 3004)                \
    X(output_not_written, 3005)      \
    X(program_not_started, 3006)     \
    X(library_not_preloadable, 3007) \
    X(report_not_made, 3008)         \
    X(requirement_not_met, 3009)     \
    X(nothing_to_report, 3010)       \
    X(command_failed, 3011)          \
    X(library_stopped, 4001)         \
    X(aborted_on_finding, 4002)      \
    X(aborted_on_hang, 4003)

namespace aoti_dbg {

enum class ErrorCode : unsigned {
#define AOTI_DBG_ENUMERATOR(name, number) name = (number),
    AOTI_DBG_ERROR_CODES(AOTI_DBG_ENUMERATOR)
#undef AOTI_DBG_ENUMERATOR
};

}  // namespace aoti_dbg
