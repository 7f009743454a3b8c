#include "shim/observe/process.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <string>
#include <vector>

#include "base/message.hpp"
#include "shim/observe/session.hpp"
#include "shim/report/out_folder.hpp"

namespace aoti_dbg {

std::atomic<bool> g_observing{false};

namespace {

WipedPage* g_page = nullptr;
const Options* g_options = nullptr;
std::atomic<bool> g_ended{false};
pid_t g_loaded_by = 0;  // not a fork's child
pthread_once_t g_once = PTHREAD_ONCE_INIT;

// Where the kernel cannot wipe a page (before 4.14, some sandboxes), fork() at least calls this.
void wipe_in_child() {
    new (g_page) WipedPage();
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

bool is_mapped(pid_t process, const char* file) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/maps", static_cast<int>(process));
    FILE* maps = fopen(path, "re");
    if (maps == nullptr) return false;
    char line[4096];
    bool found = false;
    while (!found && fgets(line, sizeof line, maps) != nullptr)
        found = strstr(line, file) != nullptr;
    fclose(maps);
    return found;
}

/// "Saw nothing" is not "clean". Said where something could have been seen, by the process that a person
/// started: its children, compilers and workers, have the library as well.
void say_if_nothing_was_seen() {
    if (!is_mapped(getpid(), "/libtorch_cpu.so") && !is_mapped(getpid(), "/libcuda.so")) return;
    if (is_mapped(getppid(), "/libaoti_dbg.so")) return;
    message(Severity::warn,
            "0 models, 0 runs, 0 calls: nothing was looked at, because no model was loaded and nothing "
            "launched in a way that is seen; the README's section on limits says which are not");
}

void make_ready() {
    const int kept_errno = errno;
    g_loaded_by = getpid();
    g_page = make_page();
    pthread_atfork(nullptr, nullptr, wipe_in_child);
    std::vector<std::string> complaints;
    auto* parsed = new Options(parse_options(::getenv, complaints));
    parsed->out = anchored_pattern(parsed->out);
    if (parsed->log != "stderr" && parsed->log != "stdout") parsed->log = anchored_pattern(parsed->log);
    g_options = parsed;
    for (const std::string& complaint : complaints)
        message(Severity::warn, "%s", complaint.c_str());
    if (g_options->levels.stats || g_options->levels.files) {
        message(Severity::warn,
                "levels 1 and 2 (files, stats) are not in this version; printing kernel names "
                "(level 3)");
    }
    g_observing.store(g_options->levels.any(), std::memory_order_release);
    errno = kept_errno;
}

}  // namespace

void ensure_process_ready() {
    pthread_once(&g_once, make_ready);
}

const Options& options() {
    return *g_options;
}

WipedPage& wiped_page() {
    return *g_page;
}

void switch_off(const char* why) {
    if (!g_observing.exchange(false)) return;
    message(Severity::error,
            "%s; nothing is looked at from here on; please report it with what this program does", why);
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
    session = new (std::nothrow) Session(options());
    page.session.store(session, std::memory_order_release);
    return session;
}

void end_process() {
    if (g_page == nullptr) return;
    Session* session = g_page->session.load(std::memory_order_acquire);
    if (session == nullptr) {
        if (observing() && getpid() == g_loaded_by && !g_ended.exchange(true)) say_if_nothing_was_seen();
        return;
    }
    if (session->pid() != getpid()) return;
    if (g_ended.exchange(true)) return;
    g_observing.store(false, std::memory_order_release);
    session->end();
}

}  // namespace aoti_dbg
