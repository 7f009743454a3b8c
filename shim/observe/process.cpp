#include "shim/observe/process.hpp"

#include <limits.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <mutex>
#include <new>
#include <string>
#include <vector>

#include "base/message.hpp"
#include "config/pattern.hpp"
#include "config/selection.hpp"
#include "shim/observe/dump_request.hpp"
#include "shim/observe/fatal_signals.hpp"
#include "shim/observe/fault_window.hpp"
#include "shim/observe/left_calls.hpp"
#include "shim/observe/nothing_seen.hpp"
#include "shim/observe/process_tree.hpp"
#include "shim/observe/session.hpp"
#include "shim/observe/thread_state.hpp"
#include "shim/report/out_folder.hpp"
#include "shim/report/reporter.hpp"
#include "shim/report/tally.hpp"

namespace aoti_dbg {

std::atomic<bool> g_observing{false};
const Options* g_options = nullptr;
bool g_follow_unselected = false;
bool g_showing = false;
bool g_measuring = false;
bool g_checking = false;
bool g_ordering = false;
bool g_looking = false;
bool g_saving = false;
bool g_recording_waits = false;
bool g_marking = false;
bool g_recording_memory = false;
WipedPage* g_wiped_page = nullptr;

namespace {

const std::string* g_folder = nullptr;  // the working directory at load
std::atomic<bool> g_ended{false};
std::atomic<int> g_exit_status{-1};  // not known
pid_t g_loaded_by = 0;               // not a fork's child
std::int64_t g_load_time = 0;        // seconds since 1970
pthread_once_t g_once = PTHREAD_ONCE_INIT;

// Where the kernel cannot wipe a page (before 4.14, some sandboxes), fork() at least calls this.
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

/// Once for a tree of processes: under `aoti-dbg run` by the first that has something to say, else by the
/// start.
void say_about_options(const std::vector<std::string>& complaints) {
    if (complaints.empty() || !(tallied_start() ? first_to_complain() : is_start())) return;
    for (const std::string& complaint : complaints)
        message(Severity::warn, "%s", complaint.c_str());
}

/// Whether Python is to turn its faulthandler on when it starts, which passes signals on to what it finds
/// then. By itself Python has to find these signals at their default: it tells programs that they are, and
/// lets them put that back.
bool starts_faulthandler() {
    const char* const value = getenv("PYTHONFAULTHANDLER");
    return value != nullptr && *value != '\0';
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
    g_looking = finding() || g_saving;
    g_recording_waits = g_options->records_all();
    g_marking = g_options->may_mark();
    g_recording_memory = g_options->triage;
    char here[PATH_MAX];
    g_folder = new std::string(getcwd(here, sizeof here) != nullptr ? here : "");
    say_about_options(complaints);
    g_follow_unselected = follows_unselected(*g_options);
    if (may_select(*g_options) && (!g_options->processes.only_main || is_start())) {
        count_in_tally(TallyCount::partaking);
        g_observing.store(true, std::memory_order_release);
        // Somebody waits for the end only then, and the ring alone tells what came.
        if (is_tallied() && g_options->triage && starts_faulthandler()) watch_fatal_signals();
    }
    errno = kept_errno;
}

/// Where relative names begin: where this process was when it was loaded; below a start that still runs,
/// where that one is, because all of its processes have their output in one place.
std::string anchor(const Origin& start) {
    if (start.pid == getpid()) return *g_folder;
    char folder[PATH_MAX];
    const std::string link = "/proc/" + std::to_string(start.pid) + "/cwd";
    const ssize_t length = readlink(link.c_str(), folder, sizeof folder);
    if (length <= 0 || length >= PATH_MAX) return *g_folder;
    folder[length] = '\0';
    // Of a folder that was removed the link says a name that stands for nothing, or for another folder.
    struct stat named {};
    struct stat real {};
    const bool same = stat(folder, &named) == 0 && stat(link.c_str(), &real) == 0 &&
                      named.st_dev == real.st_dev && named.st_ino == real.st_ino;
    return same ? folder : *g_folder;
}

/// Registered not before there is a session: what is registered last is called first, and the loader's own,
/// which calls our destructor, is there since before main.
void hear_exit_status() {
    static std::atomic<bool> hears{false};
    if (hears.exchange(true)) return;
    on_exit([](int status, void* /*nothing*/) { note_exit_status(status); }, nullptr);
}

Session* make_session() {
    hear_exit_status();
    const Origin start = find_start();
    Options anchored = options();
    anchored.out = anchored_pattern(anchored.out, anchor(start), ::getenv);
    if (anchored.log != "stderr" && anchored.log != "stdout") {
        anchored.log = anchored_pattern(anchored.log, *g_folder, ::getenv);
    }
    return new (std::nothrow) Session(anchored, start);
}

/// Asked at the first call: workers that are forked learn their rank after they were loaded.
bool takes_part(const Processes& processes) {
    if (processes.only_main) return getpid() == g_loaded_by;
    return matches_this_process(processes.names);
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

Session* current_session() {
    if (!observing()) return nullptr;
    WipedPage& page = wiped_page();
    Session* session = page.session.load(std::memory_order_acquire);
    if (session != nullptr) return session;
    const std::lock_guard lock(page.session_mutex);
    session = page.session.load(std::memory_order_acquire);
    // Reached at the end: the session has been closed, and no other is opened. A child that was forked since
    // then is a process of its own, but one that ends as well.
    if (session != nullptr || g_ended.load(std::memory_order_relaxed)) return session;
    if (!takes_part(options().processes)) {
        count_in_tally(TallyCount::left_out);
        g_observing.store(false, std::memory_order_release);
        return nullptr;
    }
    session = make_session();
    page.session.store(session, std::memory_order_release);
    return session;
}

void note_exit_status(int status) {
    g_exit_status.store(status & 0xff, std::memory_order_relaxed);
}

void end_process() {
    if (g_wiped_page == nullptr) return;
    Session* session = g_wiped_page->session.load(std::memory_order_acquire);
    if (session == nullptr) {
        if (observing() && getpid() == g_loaded_by && !g_ended.exchange(true))
            report_nothing_seen(*g_options, {*g_folder, g_load_time});
        return;
    }
    if (session->pid() != getpid()) return;
    if (g_ended.exchange(true)) return;
    yield_to_fatal_signal();
    let_fault_settle();
    remove_dump_pipe();
    // It is not inside of these that the process ends.
    if (ThreadState* const state = thread_state_if_any(); state != nullptr)
        close_left_calls(*state, reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)));
    g_observing.store(false, std::memory_order_release);
    const bool is_bad = session->end();
    const int status = g_exit_status.load(std::memory_order_relaxed);
    if (is_bad || status > 0) {
        if (!has_reporter()) return;
        if (!start_reporter({0, status}))
            return message(Severity::warn,
                           "cannot start a process to make the report. Run `aoti-dbg report %s` to make it.",
                           session->folder().c_str());
    }
    session->leave_private_folder();
}

}  // namespace aoti_dbg
