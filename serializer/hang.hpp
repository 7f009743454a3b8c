// A hang: calls that do not return, or a launch that does not finish and that no call waits for, with the
// unfinished launches. The library finds it in its own flight ring; the command does so after the process
// exits. Its file hang.json (docs/reference/hang.md) adds what only the live process can know. The code has
// no side effects except allocation.
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

/// Where the kernel reports a thread to be. Empty members are unknown.
struct ThreadPlace {
    std::string name;          // thread name
    std::string state;         // "sleeping", "running"
    std::string wait_channel;  // kernel wait channel
    std::string system_call;   // system call number
    std::string code;          // "libc.so.6+0x98d61": the code address in user space
    // The callers, innermost first: "/usr/lib/libc.so.6+0x98d61", with a name once it has been resolved.
    std::vector<std::string> callers{};
};

/// The innermost call that a thread has not returned from, or a launch that has not finished.
struct StuckCall {
    CrashCall call;
    bool asks = false;             // it keeps returning "not ready"
    bool is_without_wait = false;  // a launch whose completion marker shows it unfinished, while no call
                                   // waits for the device
    std::uint64_t nanoseconds = 0;
    ThreadPlace place;
};

struct Hang {
    std::uint32_t pid = 0;
    std::uint64_t time_ns = 0;       // when the process was last inspected
    std::vector<StuckCall> calls;    // longest first
    std::vector<CrashCall> unended;  // launches that `calls.front()` is or may wait for, oldest first
    std::uint64_t unended_count = 0;
    bool by_markers = false;   // completion markers prove that the first launch is the blocking one and that
                               // the list is complete
    bool is_recorded = false;  // the driver was asked which kernels run, which ended the hang
};

inline constexpr std::size_t kMostUnended = 16;

/// The name of a launch whose flight ring record was overwritten, and its word in fingerprints.
inline constexpr std::string_view kOverwrittenLaunch = "an unknown launch (overwritten in the flight ring)";
inline constexpr std::string_view kOverwrittenLaunchWord =
    "a launch that the flight ring does not have any more";

/// Returns the innermost open call of each live thread. Durations are measured at `unix_ns`, 0 if the ring
/// does not give them. A nonzero `only` selects one thread.
std::vector<StuckCall> open_calls(const ring::Contents& contents, std::uint64_t unix_ns,
                                  std::uint32_t only = 0);

/// True if a thread is inside a call that may wait for the device.
bool does_any_wait(const ring::Contents& contents);

/// Returns the first launch with that mark (ring::Record::mark) after `completed`, or none if it has finished
/// meanwhile. If the ring has overwritten it, the result has no name and no seq.
std::optional<StuckCall> unawaited_launch(const ring::Contents& contents, std::uint32_t mark,
                                          std::uint64_t completed);

/// True if a launch that no call waits for has finished after all, or has failed with its context.
bool is_over(const ring::Contents& contents, const StuckCall& stuck);

/// True if the hang is, or may be, on the device.
bool may_be_of_device(const Hang& hang);

/// Sorts the calls and finds the launches that the first one may wait for. These are the launches on its
/// stream that no completed wait covers and no marker shows as finished. If it has no stream, or its stream
/// has none, launches on any stream count. For a launch that no call waits for, the result is that launch and
/// those behind it.
void conclude_hang(const ring::Contents& contents, Hang& hang);

/// "12.3 s"
std::string seconds_text(std::uint64_t nanoseconds);
/// Returns "cuStreamSynchronize on stream 0x5, for 12.3 s, in thread 17 (python)" in clean text. For a
/// launch: "K (run 0, call 3) on stream 0x5, unfinished for 12.3 s, launched by thread 17".
std::string stuck_text(const StuckCall& stuck);

/// " has not returned for 12.3 s", " has not finished for 12.3 s" or " has returned "not ready" for 12.3 s".
std::string stalled_text(const StuckCall& stuck);

/// Returns "; it likely waits for K (run 0, call 3), the oldest of 4 launches not known to have finished", or
/// an empty text if there are none. With markers: "; it waits for K (run 0, call 3), which is unfinished
/// according to completion markers; 3 launches are queued behind it". If no call waits: ", according to
/// completion markers, and no call waits for it; 3 launches are queued behind it".
std::string unended_text(const Hang& hang);

/// Returns the path of the hang file, given the process's flight ring.
std::string hang_path(const std::string& ring);

/// Appends one line of JSON.
void append_hang_json(const Hang& hang, std::string& out);
/// Accepts any bytes.
Result<Hang> read_hang(std::string_view text);

}  // namespace aoti_dbg
