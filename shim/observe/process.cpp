#include "shim/observe/process.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
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

void make_ready() {
    const int kept_errno = errno;
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
    if (session == nullptr || session->pid() != getpid()) return;
    if (g_ended.exchange(true)) return;
    g_observing.store(false, std::memory_order_release);
    session->end();
}

}  // namespace aoti_dbg
