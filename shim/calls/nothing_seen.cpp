#include "shim/calls/nothing_seen.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "base/errno_keeper.hpp"
#include "base/message.hpp"
#include "base/private_folder.hpp"
#include "config/pattern.hpp"
#include "config/selection.hpp"
#include "serializer/tally_format.hpp"
#include "shim/calls/models.hpp"
#include "shim/runtime/process_tree.hpp"
#include "shim/runtime/tally.hpp"

namespace aoti_dbg {
namespace {

/// Returns true if this process has or had children, or if the kernel does not account for them.
bool had_children() {
    struct sigaction on_end {};
    sigaction(SIGCHLD, nullptr, &on_end);
    if (on_end.sa_handler == SIG_IGN || (on_end.sa_flags & SA_NOCLDWAIT) != 0) return true;
    rusage ended{};
    if (getrusage(RUSAGE_CHILDREN, &ended) != 0 || ended.ru_maxrss != 0) return true;
    siginfo_t info{};
    return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

/// A handler runs with its own signal blocked and may have interrupted malloc. Also returns true if the
/// program blocked a signal for another reason.
bool may_be_in_signal_handler() {
    sigset_t blocked;
    sigemptyset(&blocked);
    pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
    for (int signal = 1; signal <= SIGRTMAX; ++signal)
        if (sigismember(&blocked, signal) == 1) return true;
    return false;
}

/// Returns true if an entry of the folder changed since then.
bool has_entry_since(const std::string& folder, std::int64_t unix_seconds) {
    DIR* const entries = opendir(folder.c_str());
    if (entries == nullptr) return false;
    bool found = false;
    const dirent* entry = nullptr;
    while (!found && (entry = readdir(entries)) != nullptr) {
        const std::string_view name = entry->d_name;
        struct stat info {};
        if (name == "." || name == "..") continue;
        if (fstatat(dirfd(entries), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0) continue;
        found = info.st_ctim.tv_sec >= unix_seconds;
    }
    closedir(entries);
    return found;
}

/// A recording descendant has a folder below that of this process, which is the start. Returns true if the
/// descendant may have no folder or another one.
bool may_descendant_have_recorded(const Options& options, const LoadedProcess& process) {
    if (may_be_in_signal_handler()) return true;
    if (options.ring == 0 && !options.timeline && !may_find(options) && !may_save(options)) return true;
    // A descendant may have another rank and other variables.
    if (options.out.find("%r") != std::string::npos || options.out.find("%q") != std::string::npos)
        return true;
    const Origin start = find_start();
    char now[PATH_MAX];
    for (const std::string& anchor :
         {process.folder, std::string(getcwd(now, sizeof now) == nullptr ? "" : now)}) {
        const std::string pattern = anchored_pattern(options.out, anchor, ::getenv);
        const std::string folder = expand_pattern(pattern, ::getenv, start);
        if (has_entry_since(folder, process.unix_seconds)) return true;
        if (!has_room(folder, options.least_room()).ok()) return true;
    }
    return false;
}

}  // namespace

void report_nothing_seen(const Options& options, const LoadedProcess& process) {
    const ErrnoKeeper errno_keeper;
    if (!has_mapped(getpid(), "/libtorch_cpu.so") && !has_mapped(getpid(), "/libcuda.so")) return;
    if (is_tallied()) return count_in_tally(TallyCount::idle);
    if (has_mapped(getppid(), "/libaoti_dbg.so")) return;
    if (had_children() && may_descendant_have_recorded(options, process)) return;
    const bool has_models = count_models().seen != 0;
    message(Severity::warn, "%s. The limits in README.md list launches that cannot be intercepted.",
            has_models ? tally::kNoCallSeen : tally::kNothingSeen);
}

}  // namespace aoti_dbg
