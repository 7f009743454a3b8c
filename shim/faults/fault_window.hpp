// Covers the time from a GPU fault until a program with an armed driver sees it (fault_watch). The device
// stalls for 30 to 40 ms. Then the driver loads its debugger to write the core dump, which takes 50 to 100 ms
// more. Only then is the error sticky: until then, calls that wait return success and later kernels run. The
// loaded debugger is the sign of a fault. Before that the driver's event threads run (event_handlers), and
// only then is the debugger looked for.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

#include "shim/runtime/clock.hpp"

// The library exports none of these, so it need not look up their addresses.
#pragma GCC visibility push(hidden)

namespace aoti_dbg {

extern std::atomic<bool> g_watches_window;
extern std::atomic<bool> g_raises_faults;

/// Call this when the driver is armed and will write `path`. With `raises`, launches fail as soon as a fault
/// is known.
void watch_fault_window(const std::string& path, bool raises);

/// True if the driver has begun to record a fault.
bool fault_is_under_way();
/// Does the same if faults are watched for, and otherwise returns false.
inline bool has_fault_begun() {
    return g_watches_window.load(std::memory_order_relaxed) && fault_is_under_way();
}

/// Call this after a call that waits for the device has returned. `waited` is in nanoseconds. Returns whether
/// a fault is in progress.
bool fault_is_behind(std::uint64_t waited);

/// A wait for the driver's record of what is on the device. It continues while the driver's threads work on
/// the record, which takes some seconds for a full device. It ends when they are idle for `idle` nanoseconds.
class RecordWait {
  public:
    explicit RecordWait(std::uint64_t idle) : idle_(idle) {}
    /// Returns after a millisecond whether to wait on. It must not allocate.
    bool goes_on();
    /// Call this when a part of the record has arrived.
    void note_progress() { worked_ = monotonic_nanoseconds(); }

  private:
    const std::uint64_t idle_;
    const std::uint64_t begun_ = monotonic_nanoseconds();
    std::uint64_t looked_ = 0;
    std::uint64_t worked_ = begun_;
    std::optional<std::uint64_t> time_had_;
};

/// If the driver's threads are idle for this long, no record is in progress.
inline constexpr std::uint64_t kIdleRecord = 5'000'000'000;

/// Waits until the driver's record is complete. Returns false if there is none.
bool await_record();

/// Call this at process exit. If a fault is in progress, or the last launch may still cause one, it waits
/// until the driver has written the dump. It must not allocate.
void await_fault_dump();

/// Call this before the program receives an error that came before the driver's record of the fault. It waits
/// for the record to begin, once and briefly, because a program that exits now also ends the driver's
/// debugger.
void let_record_begin(int error);

/// Returns the context's error once the driver has recorded the fault in progress.
int error_of_fault();

/// Returns what a launch must return whose real result is `result`.
template <typename Result>
Result raised(Result result) {
    if (!g_raises_faults.load(std::memory_order_relaxed)) [[likely]]
        return result;
    return result == Result{} && fault_is_under_way() ? static_cast<Result>(error_of_fault()) : result;
}

/// From here on no thread returns an error or exits. The calling thread aborts the process when the driver's
/// record is complete. A fork's child has no such thread and is not affected.
void abort_follows();
void no_abort_follows();
/// Waits as long as an abort follows.
void await_abort();
template <typename Result>
Result unless_aborting(Result result) {
    if (result != Result{}) await_abort();
    return result;
}

/// Wraps a call that waits for the device, so that it does not return success while a fault is in progress.
/// The call is repeated until the error appears.
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
        // A user requested this record by hand.
        g_watches_window.store(false, std::memory_order_relaxed);
    } else {
        let_record_begin(static_cast<int>(result));
        await_abort();
    }
    return result;
}

}  // namespace aoti_dbg

#pragma GCC visibility pop
