// This process, as the library knows it: the options, and what they switch on. Everything that must not cross
// a fork lies in one page that the kernel wipes in the child, so that also a raw clone() is noticed, without
// asking for the pid on every call.
#pragma once

#include <pthread.h>
#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <string>

#include "config/options.hpp"

namespace aoti_dbg {

class Session;

/// A mutex that lies in the wiped page: all zeros is unlocked (as PTHREAD_MUTEX_INITIALIZER is on Linux), so
/// a fork in the middle of another thread's critical section leaves no lock held in the child.
class ForkSafeMutex {
  public:
    void lock() { pthread_mutex_lock(&mutex_); }
    bool try_lock() { return pthread_mutex_trylock(&mutex_) == 0; }
    void unlock() { pthread_mutex_unlock(&mutex_); }

  private:
    pthread_mutex_t mutex_;
};

/// Locks are taken in this order, one at a time where possible; none is held over a call of the program's.
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
};

/// Reads the environment, says what is wrong with it, once. Every road into the library comes through here
/// first, because programs call us from their own constructors, before ours have run.
void ensure_process_ready();

/// Only after ensure_process_ready(). Asked several times a launch, so inline.
extern const Options* g_options;
extern bool g_follow_unselected;  // follows_unselected() of the options
extern WipedPage* g_wiped_page;
inline const Options& options() {
    return *g_options;
}
inline WipedPage& wiped_page() {
    return *g_wiped_page;
}

/// Whether calls are looked at, at all. False at level 0 and after something of ours broke.
extern std::atomic<bool> g_observing;
inline bool observing() {
    return g_observing.load(std::memory_order_relaxed);
}

// The rare ones are said to be unlikely, so that the road of what only notes calls stays straight.

/// Whether anything may be wanted of any call but that it is on record: known from the options alone.
extern bool g_showing;
inline bool showing() {
    return __builtin_expect(g_showing, false);
}

/// Whether any call may be measured (level 2, or for findings).
extern bool g_measuring;
inline bool measuring() {
    return __builtin_expect(g_measuring, false);
}

/// Whether any tensor may be saved (level 1).
extern bool g_saving;
inline bool saving() {
    return __builtin_expect(g_saving, false);
}
/// Whether what runs and calls are given is checked.
extern bool g_checking;
inline bool checking() {
    return g_checking;
}
/// Whether races are looked for.
extern bool g_ordering;
inline bool ordering() {
    return __builtin_expect(g_ordering, false);
}
/// Whether anything may be found.
inline bool finding() {
    return g_measuring || g_checking || g_ordering;
}
/// Whether calls are measured, checked, ordered or saved.
extern bool g_any_feature_active;
inline bool any_feature_active() {
    return g_any_feature_active;
}

/// Whether calls that wait are on record (Options::records_all).
extern bool g_recording_waits;

/// Whether launches may get completion markers (Options::may_mark).
extern bool g_marking;
/// Whether the map of allocations is kept (AOTI_DBG_TRIAGE).
extern bool g_recording_memory;

/// Where relative names begin; empty: not known.
const std::string& folder_at_load();

/// Fail open: nothing is looked at from here on, and `why` is said once.
void switch_off(const char* why);

/// The process that loaded the library, which is not a fork's child, and when it did, in seconds since 1970.
pid_t loading_process();
std::int64_t load_time();

/// The process is about to end with this status; called before that, or not at all.
void note_exit_status(int status);
/// -1: not known.
int noted_exit_status();

/// Nothing is recorded from here on, because the process ends. False if that was said before.
bool begin_process_end();
bool is_process_ending();

}  // namespace aoti_dbg
