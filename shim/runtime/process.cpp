#include "shim/runtime/process.hpp"

#include <limits.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <new>
#include <string>
#include <vector>

#include "base/message.hpp"
#include "config/selection.hpp"
#include "shim/runtime/process_tree.hpp"
#include "shim/runtime/tally.hpp"

namespace aoti_dbg {

std::atomic<bool> g_observing{false};
const Options* g_options = nullptr;
bool g_follow_unselected = false;
bool g_skipping_runs = false;
bool g_recording_unselected = false;
bool g_showing = false;
bool g_measuring = false;
bool g_checking = false;
bool g_ordering = false;
bool g_any_feature_active = false;
bool g_saving = false;
bool g_recording_waits = false;
bool g_marking = false;
bool g_recording_memory = false;
WipedPage* g_wiped_page = nullptr;

namespace {

const std::string* g_folder = nullptr;  // the working directory at load
std::atomic<bool> g_ended{false};
std::atomic<int> g_exit_status{-1};  // -1: not known
pid_t g_loaded_by = 0;               // never a forked child
std::int64_t g_load_time = 0;        // seconds since 1970
pthread_once_t g_once = PTHREAD_ONCE_INIT;

// Some kernels cannot wipe a page (before 4.14, and some sandboxes). There, fork() at least calls this.
void wipe_in_child() {
    new (g_wiped_page) WipedPage();
}

WipedPage* make_page() {
    void* page = mmap(nullptr, sizeof(WipedPage), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) {
        static WipedPage fallback;
        return &fallback;
    }
    madvise(page, sizeof(WipedPage), MADV_WIPEONFORK);
    return new (page) WipedPage();
}

bool is_start() {
    return find_start().pid == getpid();
}

/// Prints the complaints once per process tree. Under `aoti-dbg run` the first process with a complaint
/// prints them, else the start does.
void say_about_options(const std::vector<std::string>& complaints) {
    if (complaints.empty() || !(tallied_start() ? first_to_complain() : is_start())) return;
    for (const std::string& complaint : complaints)
        message(Severity::warn, "%s", complaint.c_str());
}

void make_ready() {
    const int kept_errno = errno;
    g_loaded_by = getpid();
    g_load_time = time(nullptr);
    g_wiped_page = make_page();
    pthread_atfork(nullptr, nullptr, wipe_in_child);
    join_tally();
    std::vector<std::string> complaints;
    g_options = new Options(parse_options(process_sources(), complaints));
    g_showing = may_show(*g_options);
    g_measuring = may_measure(*g_options);
    g_checking = checks_arguments(*g_options);
    g_ordering = looks_for_races(*g_options);
    g_saving = may_save(*g_options);
    g_any_feature_active = finding() || g_saving;
    g_recording_waits = g_options->records_all();
    g_marking = g_options->may_mark();
    g_recording_memory = g_options->triage;
    g_recording_unselected = g_recording_waits || g_options->timeline || g_checking || g_ordering;
    activate_driver_observers();
    char here[PATH_MAX];
    g_folder = new std::string(getcwd(here, sizeof here) != nullptr ? here : "");
    say_about_options(complaints);
    g_follow_unselected = follows_unselected(*g_options);
    g_skipping_runs = may_skip_runs(*g_options);
    if (may_select(*g_options) && (!g_options->processes.only_main || is_start())) {
        count_in_tally(TallyCount::partaking);
        g_observing.store(true, std::memory_order_release);
    }
    errno = kept_errno;
}

}  // namespace

void ensure_process_ready() {
    pthread_once(&g_once, make_ready);
}

const std::string& folder_at_load() {
    return *g_folder;
}

void switch_off(const char* why) {
    if (!g_observing.exchange(false)) return;
    error_message(ErrorCode::library_stopped,
                  "%s. The library records nothing more in this process. Free memory, or report this bug in "
                  "aoti-dbg.",
                  why);
}

pid_t loading_process() {
    return g_loaded_by;
}

std::int64_t load_time() {
    return g_load_time;
}

void note_exit_status(int status) {
    g_exit_status.store(status & 0xff, std::memory_order_relaxed);
}

int noted_exit_status() {
    return g_exit_status.load(std::memory_order_relaxed);
}

bool begin_process_end() {
    return !g_ended.exchange(true);
}

bool is_process_ending() {
    return g_ended.load(std::memory_order_relaxed);
}

}  // namespace aoti_dbg
