// Two processes: the first one shares the memory of the program (a fork would copy its page tables for
// seconds) and sends no signal when it ends, so the program has no child that it can wait for. It must not
// run the command itself, because exec turns its end into SIGCHLD, and so it starts the second, which does. A
// helper that waits from the start would be a child that process 1 and subreapers see, and wait for forever.
#include "shim/faults/reporter.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <string_view>
#include <utility>
#include <vector>

#include "base/message.hpp"
#include "base/proc_text.hpp"

namespace aoti_dbg {
namespace {

constexpr std::string_view kPreload = "LD_PRELOAD=";

/// Returns the path of the command that belongs to this library, or an empty string.
std::string command_beside_library() {
    Dl_info self{};
    if (dladdr(reinterpret_cast<const void*>(&prepare_reporter), &self) == 0 || self.dli_fname == nullptr)
        return {};
    const std::string library = self.dli_fname;
    const std::size_t slash = library.rfind('/');
    const std::string folder = slash == std::string::npos ? "." : library.substr(0, slash);
    for (const char* place : {"/aoti-dbg", "/../bin/aoti-dbg", "/../../bin/aoti-dbg"})
        if (access((folder + place).c_str(), X_OK) == 0) return folder + place;
    return {};
}

/// Everything that the command needs to start, created while the process can still allocate.
class Prepared {
  public:
    Prepared(std::string command, const ReportedProcess& process)
        : here_(process.here), words_{std::move(command), "report",
                                      "--process",        std::to_string(getpid()),
                                      "--since",          std::to_string(process.since_unix_ns),
                                      process.folder} {
        if (process.is_start) words_.emplace_back("--start");
        // The library must not observe the command.
        for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry)
            if (std::string_view(*entry).substr(0, kPreload.size()) != kPreload) texts_.emplace_back(*entry);
        environment_ = pointers_to(texts_);
        environment_.push_back(nullptr);
        arguments_ = pointers_to(words_);
        arguments_.insert(arguments_.end(), {end_, number_, separator_});
        const std::string line = proc_text("/proc/self/cmdline");
        for (std::string_view rest = line; !rest.empty();)
            program_.emplace_back(taken(rest, '\0'));
        const std::vector<char*> program = pointers_to(program_);
        arguments_.insert(arguments_.end(), program.begin(), program.end());
        arguments_.push_back(nullptr);
    }

    void set_end(OwnEnd end) {
        const bool is_signal = end.signal != 0;
        if (!is_signal && end.status < 0) return;
        snprintf(end_, sizeof end_, "%s", is_signal ? "--signal" : "--status");
        snprintf(number_, sizeof number_, "%d", is_signal ? end.signal : end.status);
    }
    [[nodiscard]] void* stack_of_first() { return stacks_.data() + stacks_.size(); }
    [[nodiscard]] void* stack_of_second() { return stacks_.data() + stacks_.size() / 2; }
    [[noreturn]] void execute() {
        // This affects only the new process. If the folder is gone, relative names lead nowhere.
        (void)!chdir(here_.c_str());
        execve(arguments_.front(), arguments_.data(), environment_.data());
        syscall(SYS_exit_group, 127);  // _exit is hooked
        __builtin_unreachable();
    }

  private:
    static std::vector<char*> pointers_to(std::vector<std::string>& texts) {
        std::vector<char*> pointers;
        pointers.reserve(texts.size());
        for (std::string& text : texts)
            pointers.push_back(text.data());
        return pointers;
    }

    alignas(16) std::array<char, std::size_t{512} << 10U> stacks_;
    std::string here_;
    std::vector<std::string> words_;
    std::vector<std::string> program_;
    std::vector<std::string> texts_;  // of the environment
    std::vector<char*> environment_;
    std::vector<char*> arguments_;
    char end_[9] = "--status";
    char number_[16] = "unknown";
    char separator_[3] = "--";
};

std::atomic<Prepared*> g_prepared{nullptr};  // never freed, because a signal handler may use it
std::atomic<pid_t> g_prepared_by{0};
std::atomic<pid_t> g_started_by{0};

/// Closes all descriptors from `first` on.
void close_descriptors(unsigned first) {
#ifdef SYS_close_range
    if (syscall(SYS_close_range, first, ~0U, 0U) == 0) return;
#endif
    constexpr int kMost = 1 << 16;
    for (int descriptor = static_cast<int>(first); descriptor < kMost; ++descriptor)
        close(descriptor);
}

/// Becomes the command. All signals stay blocked, because the program's handlers would run on its memory. The
/// command unblocks them. No descriptor of the program stays open. If it had no standard error, /dev/null
/// replaces whatever uses that number now.
int run_second(void* prepared) {
    if (was_open_at_start(STDERR_FILENO)) {
        dup2(STDERR_FILENO, STDOUT_FILENO);
    } else {
        const int nowhere = open("/dev/null", O_RDWR);
        for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
            dup2(nowhere, standard);
    }
    close_descriptors(STDERR_FILENO + 1);
    static_cast<Prepared*>(prepared)->execute();
}

int run_first(void* prepared) {
    void* const stack = static_cast<Prepared*>(prepared)->stack_of_second();
    const long second = clone(run_second, stack, CLONE_VM | CLONE_VFORK | SIGCHLD, prepared);
    // A restarted program needs the port and the device memory of this one.
    close_descriptors(0);
    if (second > 0) syscall(SYS_wait4, second, nullptr, 0, nullptr);
    syscall(SYS_exit_group, second > 0 ? 0 : 1);
    __builtin_unreachable();
}

/// Waits some seconds at most, so that the report exists for any process that waits for the program. In a
/// container, all processes end with the first one.
void await(long child) {
    constexpr int kTurns = 1000;
    constexpr timespec kTurn = {0, 5'000'000};
    for (int turn = 0; turn < kTurns; ++turn) {
        if (syscall(SYS_wait4, child, nullptr, __WALL | WNOHANG, nullptr) != 0) return;
        nanosleep(&kTurn, nullptr);
    }
}

}  // namespace

bool prepare_reporter(const ReportedProcess& process) {
    std::string command = command_beside_library();
    if (command.empty()) {
        // Worker processes must not repeat this message.
        if (process.is_start)
            message(
                Severity::warn,
                "cannot find aoti-dbg beside the library, in ../bin or in ../../bin. An abnormal exit leaves "
                "no report. Install the two together, or run `aoti-dbg report %s` afterwards.",
                process.folder.c_str());
        return false;
    }
    g_prepared.store(new Prepared(std::move(command), process), std::memory_order_release);
    g_prepared_by.store(getpid(), std::memory_order_release);
    return true;
}

bool has_reporter() {
    return g_prepared.load(std::memory_order_acquire) != nullptr &&
           g_prepared_by.load(std::memory_order_acquire) == getpid();
}

bool start_reporter(OwnEnd end) {
    if (!has_reporter()) return false;
    const pid_t self = getpid();
    Prepared* const prepared = g_prepared.load(std::memory_order_acquire);
    if (g_started_by.exchange(self, std::memory_order_relaxed) == self) return true;
    prepared->set_end(end);
    // Signals for the new processes are not the program's, and its handlers must not run there.
    sigset_t all;
    sigset_t present;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &present);
    const long first = clone(run_first, prepared->stack_of_first(), CLONE_VM, prepared);
    pthread_sigmask(SIG_SETMASK, &present, nullptr);
    if (first > 0) await(first);
    return first > 0;
}

}  // namespace aoti_dbg
