#include "shim/calls/current_session.hpp"

#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <new>
#include <string>

#include "config/pattern.hpp"
#include "config/selection.hpp"
#include "shim/calls/call_observer.hpp"
#include "shim/calls/session.hpp"
#include "shim/runtime/process.hpp"
#include "shim/runtime/process_tree.hpp"
#include "shim/runtime/tally.hpp"

namespace aoti_dbg {
namespace {

/// Returns the folder that relative names start from: this process's folder at load. If the start still runs,
/// it is the start's current folder, because all of its processes share one output folder.
std::string anchor(const Origin& start) {
    if (start.pid == getpid()) return folder_at_load();
    char folder[PATH_MAX];
    const std::string link = "/proc/" + std::to_string(start.pid) + "/cwd";
    const ssize_t length = readlink(link.c_str(), folder, sizeof folder);
    if (length <= 0 || length >= PATH_MAX) return folder_at_load();
    folder[length] = '\0';
    // If the folder was removed, the link contains a name that is missing or belongs to another folder.
    struct stat named {};
    struct stat real {};
    const bool same = stat(folder, &named) == 0 && stat(link.c_str(), &real) == 0 &&
                      named.st_dev == real.st_dev && named.st_ino == real.st_ino;
    return same ? folder : folder_at_load();
}

/// Registers the handler only now, because exit handlers run in reverse order. The loader's handler, which
/// runs our destructor, was registered before main.
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
        anchored.log = anchored_pattern(anchored.log, folder_at_load(), ::getenv);
    }
    activate_call_observers();
    return new (std::nothrow) Session(anchored, start);
}

/// Ask at the first call, because forked workers learn their rank after the library is loaded.
bool takes_part(const Processes& processes) {
    if (processes.only_main) return getpid() == loading_process();
    return matches_this_process(processes.names);
}

}  // namespace

Session* current_session() {
    if (!observing()) return nullptr;
    WipedPage& page = wiped_page();
    Session* session = page.session.load(std::memory_order_acquire);
    if (session != nullptr) return session;
    const std::lock_guard lock(page.session_mutex);
    session = page.session.load(std::memory_order_acquire);
    // At exit, the session has been closed, and no other one starts. The same holds for a child forked since
    // then, because it is about to exit, too.
    if (session != nullptr || is_process_ending()) return session;
    if (!takes_part(options().processes)) {
        count_in_tally(TallyCount::left_out);
        g_observing.store(false, std::memory_order_release);
        return nullptr;
    }
    session = make_session();
    page.session.store(session, std::memory_order_release);
    return session;
}

}  // namespace aoti_dbg
