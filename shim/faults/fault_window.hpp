// What lies between a fault on the GPU and the moment at which a program with an armed driver gets to know of
// it (fault_watch). The device stands still for some 30 to 40 ms. Then the driver loads its debugger to write
// the core dump, which takes it 50 to 100 ms more, and only then the error sticks: until then calls that wait
// for the device come back as if all were well, and later kernels run.
//
// The debugger that is loaded is the sign by which it is known here that a fault is under way. Before that
// the driver's threads are called (event_handlers): then the debugger is looked for.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

#include "shim/runtime/clock.hpp"

namespace aoti_dbg {

extern std::atomic<bool> g_watches_window;
extern std::atomic<bool> g_raises_faults;

/// The driver has been armed, and will write `path`. `raises`: launches fail as soon as a fault is known.
void watch_fault_window(const std::string& path, bool raises);

/// Whether the driver has begun to record a fault.
bool fault_is_under_way();
/// The same where it is watched for, else false.
inline bool has_fault_begun() {
    return g_watches_window.load(std::memory_order_relaxed) && fault_is_under_way();
}

/// A call of the host's that waits for the device has returned; `waited` in nanoseconds.
bool fault_is_behind(std::uint64_t waited);

/// Of the driver's record of what is on the device, for which somebody waits: as long as its threads are at
/// work on it, which takes some seconds where the device is full, and for so long when they are not.
class RecordWait {
  public:
    explicit RecordWait(std::uint64_t idle) : idle_(idle) {}
    /// After a millisecond. Allocates nothing.
    bool goes_on();
    /// Some of it is there.
    void note_progress() { worked_ = monotonic_nanoseconds(); }

  private:
    const std::uint64_t idle_;
    const std::uint64_t begun_ = monotonic_nanoseconds();
    std::uint64_t looked_ = 0;
    std::uint64_t worked_ = begun_;
    std::optional<std::uint64_t> time_had_;
};

/// Where threads of the driver's do nothing for so long there is no record under way.
inline constexpr std::uint64_t kIdleRecord = 5'000'000'000;

/// Waits until the driver's record is whole; false where none has come.
bool await_record();

/// The process is about to end: if a fault is under way, or may still come of what was launched just now,
/// waits until the driver has written of it. Allocates nothing.
void await_fault_dump();

/// The program is about to be told of an error, which has come before the driver's record of the fault: waits
/// for that, once and not for long. For a program that now ends takes the driver's debugger along.
void let_record_begin(int error);

/// What the context's error is when the driver has recorded the fault that is under way.
int error_of_fault();

/// What a launch that returned `result` is to return.
template <typename Result>
Result raised(Result result) {
    if (!g_raises_faults.load(std::memory_order_relaxed)) [[likely]]
        return result;
    return result == Result{} && fault_is_under_way() ? static_cast<Result>(error_of_fault()) : result;
}

/// From now on nobody is told of an error, and nobody exits: the calling thread aborts the process, when the
/// driver's record is made. Not in a fork's child, which has no such thread.
void abort_follows();
void no_abort_follows();
/// Where that is so, for as long as it is.
void await_abort();
template <typename Result>
Result unless_aborting(Result result) {
    if (result != Result{}) await_abort();
    return result;
}

/// Around a call that waits for the device, so that it does not come back as if all were well when a fault
/// is under way: it is made again until the error is there.
template <typename Again>
auto wait_through_fault(Again again) {
    if (!g_watches_window.load(std::memory_order_relaxed)) [[likely]]
        return again();
    const std::uint64_t begun = monotonic_nanoseconds();
    auto result = again();
    constexpr decltype(result) kSuccess{};
    if (result == kSuccess && !fault_is_behind(monotonic_nanoseconds() - begun)) return result;
    for (RecordWait wait(kIdleRecord); result == kSuccess && wait.goes_on();)
        result = again();
    if (result == kSuccess) {
        // A record that somebody asked for by hand.
        g_watches_window.store(false, std::memory_order_relaxed);
    } else {
        let_record_begin(static_cast<int>(result));
        await_abort();
    }
    return result;
}

}  // namespace aoti_dbg
