// The library's view of this process: the options and what they switch on. Everything that must not cross a
// fork is in one page, which the kernel wipes in the child. This also covers a raw clone(), and no call has
// to ask for the pid.
#pragma once

#include <pthread.h>
#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <string>

#include "config/options.hpp"

// The library exports none of these, so it need not look up their addresses.
#pragma GCC visibility push(hidden)

namespace aoti_dbg {

class Session;

/// A mutex for the wiped page. All zeros means unlocked, as in PTHREAD_MUTEX_INITIALIZER on Linux. So a fork
/// inside another thread's critical section leaves no locked mutex in the child.
class ForkSafeMutex {
  public:
    void lock() { pthread_mutex_lock(&mutex_); }
    bool try_lock() { return pthread_mutex_trylock(&mutex_) == 0; }
    void unlock() { pthread_mutex_unlock(&mutex_); }

  private:
    pthread_mutex_t mutex_;
};

/// Take the locks in this order, and one at a time where possible. Hold none while the program's code runs.
struct WipedPage {
    std::atomic<Session*> session;
    ForkSafeMutex session_mutex;
    ForkSafeMutex models_mutex;
    ForkSafeMutex functions_mutex;
    ForkSafeMutex slots_mutex;
    ForkSafeMutex threads_mutex;
    ForkSafeMutex names_mutex;
    ForkSafeMutex constants_mutex;  // of MeasuredModel
    ForkSafeMutex races_mutex;
    std::atomic<class RaceWatch*> races;
    std::atomic<class DriverLogFile*> driver_log;
};

/// Reads the environment and warns once about invalid settings. Every path into the library calls this first,
/// because programs call us from constructors that run before ours.
void ensure_process_ready();

/// Fills the list of observers of driver calls (calls/driver_observer.cpp). ensure_process_ready() calls it
/// once, when the options are known: driver calls count before the first session.
void activate_driver_observers();

/// Valid only after ensure_process_ready(). Each launch reads these several times, so the accessors are
/// inline.
extern const Options* g_options;
extern bool g_follow_unselected;     // follows_unselected() of the options
extern bool g_skipping_runs;         // may_skip_runs() of the options
extern bool g_recording_unselected;  // calls that are not selected have records, too
extern WipedPage* g_wiped_page;
inline const Options& options() {
    return *g_options;
}
inline WipedPage& wiped_page() {
    return *g_wiped_page;
}

/// True while the library inspects calls. False at level 0, and after an internal failure.
extern std::atomic<bool> g_observing;
inline bool observing() {
    return g_observing.load(std::memory_order_relaxed);
}

// The rare flags are marked as unlikely, so that the path of a call that is only recorded has no taken
// branches.

/// True if the options may request more of a call than its record.
extern bool g_showing;
inline bool showing() {
    return __builtin_expect(g_showing, false);
}

/// True if a call may be measured (level 2, or for findings).
extern bool g_measuring;
inline bool measuring() {
    return __builtin_expect(g_measuring, false);
}

/// True if a tensor may be saved (level 1).
extern bool g_saving;
inline bool saving() {
    return __builtin_expect(g_saving, false);
}
/// True if the arguments of runs and calls are checked.
extern bool g_checking;
inline bool checking() {
    return g_checking;
}
/// True if the library looks for races.
extern bool g_ordering;
inline bool ordering() {
    return __builtin_expect(g_ordering, false);
}
/// Returns true if there may be findings.
inline bool finding() {
    return g_measuring || g_checking || g_ordering;
}
/// True if calls are measured, checked, ordered or saved.
extern bool g_any_feature_active;
inline bool any_feature_active() {
    return g_any_feature_active;
}

/// True if waiting calls are recorded (Options::records_all).
extern bool g_recording_waits;

/// True if launches may get completion markers (Options::may_mark).
extern bool g_marking;
/// True if the library keeps the map of allocations (AOTI_DBG_TRIAGE).
extern bool g_recording_memory;

/// Returns the directory that relative names start from, or "" if it is unknown.
const std::string& folder_at_load();

/// Fails open: inspects nothing from now on, and prints `why` once.
void switch_off(const char* why);

/// The process that loaded the library, and when, in seconds since 1970. A forked child did not load it.
pid_t loading_process();
std::int64_t load_time();

/// Records the status that the process is about to exit with. Not every exit calls this.
void note_exit_status(int status);
/// Returns -1 if the status is unknown.
int noted_exit_status();

/// Stops all recording because the process ends. Returns false if an earlier call already did.
bool begin_process_end();
bool is_process_ending();

}  // namespace aoti_dbg

#pragma GCC visibility pop
