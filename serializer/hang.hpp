// A hang: the calls that threads do not come back from, or a launch that does not end and that none waits
// for, and what was handed to the device and is not known to have ended. Found in a flight ring, by the
// library in its own process and by the command when the process is gone; and its file, hang.json
// (docs/reference/hang.md), which says besides what only the process itself can know. Pure, but for what it
// allocates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "serializer/crash_call.hpp"
#include "serializer/flight_ring_reader.hpp"

namespace aoti_dbg {

inline constexpr std::string_view kHangFormatName = "aoti-dbg-hang";
inline constexpr std::uint32_t kHangFormatVersion = 1;

/// Where a thread stands, as the kernel tells it. Empty: it does not.
struct ThreadPlace {
    std::string name;          // of the thread
    std::string state;         // "sleeping", "running"
    std::string wait_channel;  // in the kernel
    std::string system_call;   // its number
    std::string code;          // "libc.so.6+0x98d61": where it is outside of the kernel
    // Of the call, the innermost first: "/usr/lib/libc.so.6+0x98d61", or with a name once somebody has
    // looked.
    std::vector<std::string> callers{};
};

/// The innermost call that a thread has not come back from; or a launch that has not ended.
struct StuckCall {
    CrashCall call;
    bool asks = false;          // it comes back, again and again, with "not ready"
    bool nobody_waits = false;  // a launch, not ended by its completion marker; no call waits for the device
    std::uint64_t nanoseconds = 0;
    ThreadPlace place;
};

struct Hang {
    std::uint32_t pid = 0;
    std::uint64_t time_ns = 0;       // when it was looked at last
    std::vector<StuckCall> calls;    // the longest first
    std::vector<CrashCall> unended;  // launches that `calls.front()` is or may wait for, the oldest first
    std::uint64_t unended_count = 0;
    bool by_markers = false;   // the first of these is known, and all of these are: by completion markers
    bool is_recorded = false;  // the driver was asked what runs, by which the hang has ended
};

inline constexpr std::size_t kMostUnended = 16;

/// The name of a launch whose record in the flight ring was overwritten, and its word in fingerprints.
inline constexpr std::string_view kOverwrittenLaunch = "an unknown launch (overwritten in the flight ring)";
inline constexpr std::string_view kOverwrittenLaunchWord =
    "a launch that the flight ring does not have any more";

/// Of each thread that has not ended the innermost call that is open, and how long at `unix_ns`, 0 where the
/// ring does not tell. `only`: of that thread; 0: of all.
std::vector<StuckCall> open_calls(const ring::Contents& contents, std::uint64_t unix_ns,
                                  std::uint32_t only = 0);

/// Whether a thread is inside of a call that may wait for the device.
bool does_any_wait(const ring::Contents& contents);

/// The first launch with that mark (ring::Record::mark) beyond `completed`; without its name and its seq
/// where the ring does not have it any more, and none where it has ended meanwhile.
std::optional<StuckCall> unawaited_launch(const ring::Contents& contents, std::uint32_t mark,
                                          std::uint64_t completed);

/// Whether what nobody waits for has ended after all, or has failed with its context.
bool is_over(const ring::Contents& contents, const StuckCall& stuck);

/// Whether what hangs is the device, or may be.
bool may_be_of_device(const Hang& hang);

/// Sorts the calls, and finds the launches that the first of them may wait for: on its stream those that no
/// call which came back has waited for, and no marker says to have ended; where it has none, or there are
/// none there, on any. For one that nobody waits for, itself and those behind it.
void conclude_hang(const ring::Contents& contents, Hang& hang);

/// "12.3 s"
std::string seconds_text(std::uint64_t nanoseconds);
/// "cuStreamSynchronize on stream 0x5, for 12.3 s, in thread 17 (python)", or "K (run 0, call 3) on stream
/// 0x5, unfinished for 12.3 s, launched by thread 17": clean.
std::string stuck_text(const StuckCall& stuck);

/// " has not returned for 12.3 s", " has not finished for 12.3 s" or " has returned "not ready" for 12.3 s".
std::string stalled_text(const StuckCall& stuck);

/// "; it likely waits for K (run 0, call 3), the oldest of 4 launches not known to have finished"; empty
/// without any. With markers "; it waits for K (run 0, call 3), which is unfinished according to completion
/// markers; 3 launches are queued behind it". If no call waits ", according to completion markers, and no
/// call waits for it; 3 launches are queued behind it".
std::string unended_text(const Hang& hang);

/// Where the file of a hang lies, by the path of the process's flight ring.
std::string hang_path(const std::string& ring);

/// One line of JSON.
void append_hang_json(const Hang& hang, std::string& out);
/// Takes any bytes.
Result<Hang> read_hang(std::string_view text);

}  // namespace aoti_dbg
