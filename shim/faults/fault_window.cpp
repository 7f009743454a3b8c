#include "shim/faults/fault_window.hpp"

#include <link.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/errno_keeper.hpp"
#include "serializer/cuda_error.hpp"
#include "shim/runtime/clock.hpp"
#include "shim/runtime/driver_api.hpp"
#include "shim/runtime/event_handlers.hpp"
#include "shim/runtime/launch_count.hpp"

namespace aoti_dbg {

std::atomic<bool> g_watches_window{false};
std::atomic<bool> g_raises_faults{false};

namespace {

// A call that waits for a faulting kernel waits at least 27 ms, or not at all if the fault was a store. The
// driver's threads run, and the debugger is loaded 0.7 ms later, or up to 35 ms later on a busy machine.
constexpr std::uint64_t kShortestStall = 25 * kMillisecond;
constexpr std::uint64_t kUntilDebugger = 40 * kMillisecond;
constexpr std::uint64_t kLeastPatience = 2 * kMillisecond;
// Calls that wait this long without a fault must not become slower. Waiting for the debugger may take one
// fiftieth of the program's time, plus this much at first.
constexpr std::uint64_t kShare = 50;
constexpr std::uint64_t kAtFirst = 200 * kMillisecond;
// A fault of the last launch may appear this long after the launch: the stall plus a margin.
constexpr std::uint64_t kUntilSign = 80 * kMillisecond;
// The driver's debugger takes 45 to 100 ms to gather its record, or six seconds for a full device. Meanwhile
// one of its threads works without a pause.
constexpr std::uint64_t kUntilRecord = 500 * kMillisecond;
constexpr std::uint64_t kLongestRecord = 60'000 * kMillisecond;
constexpr std::uint64_t kBetweenLooks = 50 * kMillisecond;
constexpr std::uint64_t kWork =
    2 * kMillisecond;  // between two looks; a wake-up on schedule takes a fortieth of it
// The dump is complete if it has not grown for this many milliseconds. By then the error is sticky, or the
// driver has aborted the program.
constexpr int kUnchanged = 60;

std::atomic<pid_t> g_aborting{0};     // the process; 0 for none
const std::string* g_path = nullptr;  // never freed, because exit reads it
pid_t g_armed_by = 0;                 // a fork's child has no driver that could fault
std::uint64_t g_armed_at = 0;         // on the monotonic clock

struct Loaded {
    unsigned long long objects = 0;  // ever loaded
    unsigned long long seen = 0;     // number of objects at the last look
    bool has_debugger = false;
};

int inspect(dl_phdr_info* object, std::size_t, void* loaded_ptr) {
    auto& loaded = *static_cast<Loaded*>(loaded_ptr);
    loaded.objects = object->dlpi_adds;
    if (loaded.objects == loaded.seen) return 1;  // unchanged since the last look
    loaded.has_debugger = strstr(object->dlpi_name, "libcudadebugger.so") != nullptr;
    return loaded.has_debugger ? 1 : 0;
}

std::uint64_t bytes_of(const char* path) {
    struct stat found {};
    return stat(path, &found) == 0 ? static_cast<std::uint64_t>(found.st_size) : 0;
}

/// Returns whether the driver's threads ran recently, which they do not do in normal operation. They are
/// checked after a launch, and as long as a sign of its fault may still appear.
bool have_handlers_been_called() {
    static std::atomic<std::uint64_t> known_launch{0};
    static std::atomic<std::uint64_t> known_at{0};
    static std::atomic<std::uint64_t> last_call{0};
    const std::uint64_t launch = last_launch();
    const std::uint64_t now = monotonic_nanoseconds();
    if (known_launch.exchange(launch, std::memory_order_relaxed) != launch)
        known_at.store(now, std::memory_order_relaxed);
    else if (now >= known_at.load(std::memory_order_relaxed) + kUntilSign)
        return false;
    if (event_handlers::have_been_called()) last_call.store(now, std::memory_order_relaxed);
    // Other threads that return from a wait at this time must know as well.
    const std::uint64_t last = last_call.load(std::memory_order_relaxed);
    return last != 0 && now < last + kUntilDebugger;
}

}  // namespace

bool fault_is_under_way() {
    static std::atomic<bool> is_loaded{false};
    static std::atomic<unsigned long long> seen{0};
    if (is_loaded.load(std::memory_order_relaxed)) return true;
    Loaded loaded;
    loaded.seen = seen.load(std::memory_order_relaxed);
    dl_iterate_phdr(inspect, &loaded);
    seen.store(loaded.objects, std::memory_order_relaxed);
    if (loaded.has_debugger) is_loaded.store(true, std::memory_order_relaxed);
    return loaded.has_debugger;
}

bool fault_is_behind(std::uint64_t waited) {
    if (fault_is_under_way()) return true;
    const bool are_called = have_handlers_been_called();
    if (!are_called && waited < kShortestStall) return false;
    static std::atomic<std::uint64_t> spent{0};  // concurrent threads may overdraw it by one wait each
    static std::atomic<std::uint64_t> patience{kUntilDebugger};
    const std::uint64_t patient = patience.load(std::memory_order_relaxed);
    const std::uint64_t longest = waited >= kShortestStall ? kUntilDebugger : patient;
    const std::uint64_t begun = monotonic_nanoseconds();
    const std::uint64_t allowed = kAtFirst + (begun - g_armed_at) / kShare;
    const std::uint64_t used = spent.load(std::memory_order_relaxed);
    const std::uint64_t until = begun + std::min(longest, used < allowed ? allowed - used : 0);
    bool is_behind = false;
    std::uint64_t now = begun;
    while (!is_behind && now < until) {
        nap(kMillisecond / 10);
        is_behind = fault_is_under_way();
        now = monotonic_nanoseconds();
    }
    spent.fetch_add(now - begun, std::memory_order_relaxed);
    // If the driver's threads also run for other reasons, their activity means less each time.
    if (are_called && !is_behind)
        patience.store(std::max(patient / 2, kLeastPatience), std::memory_order_relaxed);
    return is_behind;
}

void let_record_begin(int error) {
    if (!ends_context(error) || getpid() != g_armed_by || !fault_is_under_way()) return;
    static std::atomic<bool> has_waited{false};
    if (has_waited.exchange(true, std::memory_order_relaxed)) return;
    const ErrnoKeeper errno_keeper;
    for (RecordWait wait(kUntilRecord); bytes_of(g_path->c_str()) == 0 && wait.goes_on();) {
    }
}

bool RecordWait::goes_on() {
    nap(kMillisecond);
    const std::uint64_t now = monotonic_nanoseconds();
    if (now - begun_ >= kLongestRecord) return false;
    if (now - looked_ >= kBetweenLooks) {
        looked_ = now;
        const std::optional<std::uint64_t> time = event_handlers::time_had();
        // The driver's threads have ended, so no thread writes any more.
        if (time == 0U) return false;
        if (time_had_ && *time > *time_had_ + kWork) worked_ = now;
        time_had_ = time;
    }
    return now - worked_ < idle_;
}

bool await_record() {
    if (!g_watches_window.load(std::memory_order_acquire)) return false;
    std::uint64_t bytes = 0;
    RecordWait wait(kIdleRecord);
    for (int unchanged = 0; unchanged < kUnchanged; ++unchanged) {
        if (!wait.goes_on()) return bytes != 0;
        const std::uint64_t now = bytes_of(g_path->c_str());
        if (now == 0 || now != bytes) unchanged = 0;
        if (now != bytes) wait.note_progress();
        bytes = now;
    }
    return true;
}

int error_of_fault() {
    const DriverApi* const api = driver_api();
    return api == nullptr ? CUDA_SUCCESS : wait_through_fault([api] { return api->cuCtxSynchronize(); });
}

void abort_follows() {
    g_aborting.store(getpid(), std::memory_order_relaxed);
}

void no_abort_follows() {
    g_aborting.store(0, std::memory_order_relaxed);
}

void await_abort() {
    for (pid_t who = 0; (who = g_aborting.load(std::memory_order_relaxed)) != 0 && who == getpid();)
        nap(kMillisecond);
}

void watch_fault_window(const std::string& path, bool raises) {
    // A debugger is already attached, so its presence is not a sign of a fault.
    if (fault_is_under_way()) return;
    g_path = new std::string(path);
    g_armed_by = getpid();
    g_armed_at = monotonic_nanoseconds();
    g_raises_faults.store(raises, std::memory_order_relaxed);
    g_watches_window.store(true, std::memory_order_release);
}

namespace {

void wait_for_dump() {
    if (!g_watches_window.load(std::memory_order_acquire) || getpid() != g_armed_by) return;
    while (!fault_is_under_way()) {
        if (since_last_launch() >= kUntilSign) return;
        nap(kMillisecond);
    }
    // A record that did not appear in that time will not appear.
    static std::atomic<bool> has_waited{false};
    if (has_waited.exchange(true)) return;
    await_record();
}

}  // namespace

void await_fault_dump() {
    wait_for_dump();
    await_abort();
}

}  // namespace aoti_dbg
