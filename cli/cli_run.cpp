// Starts the program as a child, hands on what is sent to us alone, and ends as the child ended.
// Must not change anything about the child but its environment: signal mask and dispositions are put back.
#include "cli/cli_run.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <optional>
#include <string_view>

#include "base/message.hpp"
#include "cli/log_padding.hpp"
#include "config/options.hpp"

namespace aoti_dbg::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::array kForwarded = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

std::optional<std::string> find_library() {
    std::error_code failed;
    const fs::path folder = fs::read_symlink("/proc/self/exe", failed).parent_path();
    if (failed) return std::nullopt;
    utsname machine{};
    uname(&machine);
    const fs::path lib = folder / ".." / "lib";
    for (const fs::path& place : {folder, lib, folder / ".." / "lib64",
                                  lib / (std::string(machine.machine) + "-linux-gnu"), lib / "aoti-dbg"}) {
        const fs::path library = fs::canonical(place / "libaoti_dbg.so", failed);
        if (!failed) return library.string();
    }
    return std::nullopt;
}

/// LD_PRELOAD with the library in front of what stands there; a sanitizer's run-time library insists on the
/// first place and keeps it.
std::string with_preload(std::string_view present, const std::string& library) {
    std::string sanitizers;
    std::string others;
    while (!present.empty()) {
        const std::size_t end = present.find_first_of(": ");
        const std::string entry(present.substr(0, end));
        present = end == std::string_view::npos ? std::string_view() : present.substr(end + 1);
        if (entry.empty() || entry == library) continue;
        const std::string file = fs::path(entry).filename().string();
        const bool sanitizer = file.rfind("libasan.so", 0) == 0 || file.rfind("libtsan.so", 0) == 0;
        if (sanitizer) {
            sanitizers += entry + ":";
        } else {
            others += ":" + entry;
        }
    }
    return sanitizers + library + others;
}

bool is_set(const char* variable) {
    const char* const value = std::getenv(variable);
    return value != nullptr && *value != '\0';
}

/// Makes this process's environment the child's. It is too late for LD_PRELOAD to touch us.
bool set_environment(const RunRequest& request) {
    const std::optional<std::string> library = find_library();
    if (!library) {
        message(Severity::error,
                "libaoti_dbg.so was not found; the program was not started; it belongs beside aoti-dbg or in "
                "../lib from there");
        return false;
    }
    if (library->find_first_of(": ") != std::string::npos) {
        message(Severity::error,
                "the path %s holds a blank or a colon, which LD_PRELOAD cannot carry; the program was not "
                "started; install aoti-dbg elsewhere",
                library->c_str());
        return false;
    }
    const char* const present = std::getenv("LD_PRELOAD");
    setenv("LD_PRELOAD", with_preload(present == nullptr ? "" : present, *library).c_str(), 1);
    for (const auto& [variable, value] : request.variables)
        setenv(variable.c_str(), value.c_str(), 1);
    // Whoever asks for a run wants to see something.
    if (!is_set("AOTI_DBG_LEVEL") && !is_set("AOT_INDUCTOR_DEBUG_INTERMEDIATE_VALUE_PRINTER")) {
        setenv("AOTI_DBG_LEVEL", "3", 1);
    }
    return true;
}

/// The signals that we wait for, blocked; and SIGCHLD at its default, since an inherited "ignore" would lose
/// the child's status. restore() is for the child.
class Signals {
  public:
    Signals() {
        sigemptyset(&awaited_);
        sigaddset(&awaited_, SIGCHLD);
        for (const int signal : kForwarded)
            sigaddset(&awaited_, signal);
        sigprocmask(SIG_BLOCK, &awaited_, &mask_before_);
        struct sigaction standard {};
        standard.sa_handler = SIG_DFL;
        sigaction(SIGCHLD, &standard, &child_before_);
    }
    void restore() const {
        sigaction(SIGCHLD, &child_before_, nullptr);
        sigprocmask(SIG_SETMASK, &mask_before_, nullptr);
    }
    [[nodiscard]] siginfo_t wait() const {
        siginfo_t info{};
        while (sigwaitinfo(&awaited_, &info) == -1 && errno == EINTR) {
        }
        return info;
    }

  private:
    sigset_t awaited_{};
    sigset_t mask_before_{};
    struct sigaction child_before_ {};
};

/// Starts the program; returns 0 or the errno of why it could not be executed.
int start(const std::vector<std::string>& program, const Signals& signals, pid_t& child) {
    std::array<int, 2> report{};
    if (pipe2(report.data(), O_CLOEXEC) != 0) return errno;
    std::vector<char*> arguments;
    arguments.reserve(program.size() + 1);
    for (const std::string& argument : program)
        arguments.push_back(const_cast<char*>(argument.c_str()));
    arguments.push_back(nullptr);
    child = fork();
    if (child == 0) {
        signals.restore();
        execvp(arguments[0], arguments.data());
        const int reason = errno;
        // If even this fails, exit code 127 is the best that is left.
        (void)!write(report[1], &reason, sizeof reason);
        _exit(kNotFound);
    }
    int reason = child < 0 ? errno : 0;
    close(report[1]);
    if (child > 0) {
        while (read(report[0], &reason, sizeof reason) == -1 && errno == EINTR) {
        }
    }
    close(report[0]);
    return reason;
}

/// Waits for the child's end. What the terminal sends reaches the whole process group, the child too; what
/// somebody sends to us alone is meant for the child.
int wait_for(pid_t child, const Signals& signals) {
    while (true) {
        const siginfo_t info = signals.wait();
        if (info.si_signo != SIGCHLD) {
            if (info.si_code != SI_KERNEL) kill(child, info.si_signo);
            continue;
        }
        int status = 0;
        if (waitpid(child, &status, WNOHANG) == child) return status;
    }
}

/// The child has left its core; ours would only be in its way, in a file or at a crash handler.
void end_by(int signal) {
    const rlimit none{};
    setrlimit(RLIMIT_CORE, &none);
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    std::signal(signal, SIG_DFL);
    sigset_t mask;
    sigemptyset(&mask);
    sigaddset(&mask, signal);
    raise(signal);
    sigprocmask(SIG_UNBLOCK, &mask, nullptr);
}

}  // namespace

int run(const RunRequest& request) {
    if (!set_environment(request)) return kOwnTrouble;
    timespec started{};
    // The clock that file times are taken from.
    clock_gettime(CLOCK_REALTIME_COARSE, &started);
    const Signals signals;
    pid_t child = -1;
    const int reason = start(request.program, signals, child);
    const char* const name = request.program.front().c_str();
    if (child < 0) {
        message(Severity::error, "no process could be started: %s", std::strerror(reason));
        return kOwnTrouble;
    }
    const int status = wait_for(child, signals);
    if (reason != 0) {
        message(Severity::error, "%s could not be executed: %s", name, std::strerror(reason));
        return reason == ENOENT ? kNotFound : kNotExecutable;
    }
    const char* const log = std::getenv("AOTI_DBG_LOG");
    if (log != nullptr) trim_log(log, child, started);
    if (WIFEXITED(status)) return WEXITSTATUS(status);
    end_by(WTERMSIG(status));
    return 128 + WTERMSIG(status);
}

}  // namespace aoti_dbg::cli
