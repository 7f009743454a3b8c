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
#include <ctime>
#include <fstream>
#include <string_view>
#include <utility>
#include <vector>

#include "base/message.hpp"

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
        // The library must not observe the command.
        for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry)
            if (std::string_view(*entry).substr(0, kPreload.size()) != kPreload) texts_.emplace_back(*entry);
        for (std::string& text : texts_)
            environment_.push_back(text.data());
        environment_.push_back(nullptr);
        if (process.is_start) words_.emplace_back("--start");
        for (std::string& word : words_)
            arguments_.push_back(word.data());
        end_ = arguments_.size();
        arguments_.push_back(status_);
        arguments_.push_back(number_);
        arguments_.push_back(separator_);
        std::ifstream file("/proc/self/cmdline");
        for (std::string word; std::getline(file, word, '\0');)
            program_.push_back(word);
        for (std::string& word : program_)
            arguments_.push_back(word.data());
        arguments_.push_back(nullptr);
    }

    void set_end(OwnEnd end) {
        arguments_[end_] = end.signal != 0 ? signal_ : status_;
        if (end.signal != 0 || end.status >= 0)
            write_number(end.signal != 0 ? end.signal : end.status, number_);
    }
    /// The stacks of the two new processes.
    [[nodiscard]] void* stack_of_between() { return between_.data() + between_.size(); }
    [[nodiscard]] void* stack_of_command() { return of_command_.data() + of_command_.size(); }
    [[noreturn]] void execute() {
        // This affects only the new process. If the folder is gone, relative names lead nowhere.
        (void)!chdir(here_.c_str());
        execve(arguments_.front(), arguments_.data(), environment_.data());
        syscall(SYS_exit_group, 127);  // _exit is hooked
        __builtin_unreachable();
    }

  private:
    /// `number` must not be negative.
    static void write_number(int number, char (&text)[16]) {
        char digits[16];
        int count = 0;
        do {
            digits[count++] = static_cast<char>('0' + number % 10);
            number /= 10;
        } while (number > 0);
        for (int i = 0; i < count; ++i)
            text[i] = digits[count - 1 - i];
        text[count] = '\0';
    }

    using Stack = std::array<char, std::size_t{256} << 10U>;

    alignas(16) Stack between_;
    alignas(16) Stack of_command_;
    std::string here_;
    std::vector<std::string> words_;
    std::vector<std::string> texts_;  // of the environment
    std::vector<char*> environment_;
    std::vector<char*> arguments_;
    std::vector<std::string> program_;
    std::size_t end_ = 0;  // index in arguments_ of the word that says what number_ is
    char signal_[9] = "--signal";
    char status_[9] = "--status";
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

/// Resets signal handlers, which are the program's and would run on its memory. It bypasses glibc, which does
/// not allow changes to the handlers of its own signals.
void forget_handlers() {
    struct {
        std::uintptr_t handler;
        std::uint64_t flags;
        std::uint64_t restorer;
        std::uint64_t mask;
    } action{};
    for (int signal = 1; signal <= 64; ++signal) {
        constexpr std::uintptr_t kIgnored = 1;
        if (syscall(SYS_rt_sigaction, signal, nullptr, &action, sizeof action.mask) != 0) continue;
        if (action.handler == 0 || action.handler == kIgnored) continue;
        action = {};
        syscall(SYS_rt_sigaction, signal, &action, nullptr, sizeof action.mask);
    }
}

/// Prepares the new process before it becomes the command. No descriptor of the program stays open. If the
/// program had no standard error, /dev/null replaces whatever uses its number now.
void prepare_child() {
    forget_handlers();
    sigset_t none;
    sigemptyset(&none);
    pthread_sigmask(SIG_SETMASK, &none, nullptr);
    if (was_open_at_start(STDERR_FILENO)) {
        dup2(STDERR_FILENO, STDOUT_FILENO);
    } else {
        const int nowhere = open("/dev/null", O_RDWR);
        for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
            dup2(nowhere, standard);
    }
    close_descriptors(STDERR_FILENO + 1);
}

int become_command(void* prepared) {
    prepare_child();
    static_cast<Prepared*>(prepared)->execute();
}

/// The process between the program and the command. It must not run another program itself, because its exit
/// would then send a signal to the program.
int stand_between(void* prepared) {
    void* const stack = static_cast<Prepared*>(prepared)->stack_of_command();
    const long command = clone(become_command, stack, CLONE_VM | CLONE_VFORK | SIGCHLD, prepared);
    // A restarted program needs the port and the device memory of this one.
    close_descriptors(0);
    if (command > 0) syscall(SYS_wait4, command, nullptr, 0, nullptr);
    syscall(SYS_exit_group, command > 0 ? 0 : 1);
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
    // fork() would copy the page tables, which takes seconds for a large program. The new process shares the
    // memory, has a stack of its own, and sends no signal when it ends.
    const long between = clone(stand_between, prepared->stack_of_between(), CLONE_VM, prepared);
    pthread_sigmask(SIG_SETMASK, &present, nullptr);
    if (between > 0) await(between);
    return between > 0;
}

}  // namespace aoti_dbg
