// Starts the program as a child, forwards signals that only this process receives, and ends as the child
// ended. It must change nothing about the child but its environment and its death signal. The child gets the
// original signal mask and dispositions.
#include "cli/run/run_program.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <exception>
#include <functional>

#include "base/file_failure.hpp"
#include "base/message.hpp"
#include "base/unix_time.hpp"
#include "cli/report/report_output.hpp"
#include "cli/run/capture_verification.hpp"
#include "cli/run/log_padding.hpp"
#include "cli/run/out_place.hpp"
#include "cli/run/preloadable.hpp"
#include "cli/run/run_environment.hpp"
#include "config/pattern.hpp"
#include "config/selection.hpp"
#include "triage/gather/installation.hpp"
#include "triage/gather/machine_facts.hpp"
#include "triage/gather/tally_page.hpp"

namespace aoti_dbg::cli {
namespace {

constexpr std::array kForwarded = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

/// Processes that the program starts may still load the library. A secure start, however, removes LD_PRELOAD
/// from the environment.
void warn_of(const FoundObstacle& finding, bool preload) {
    if (finding.obstacle == Obstacle::none) return;
    const bool passes_on = preload && finding.obstacle != Obstacle::secure_execution;
    message(Severity::warn, "%s %s. %s%s %s", finding.file.c_str(), finding.why.c_str(),
            preload ? "The program starts nevertheless." : "The program starts without the library.",
            passes_on ? " Programs that it starts may still be recorded." : "", finding.advice.c_str());
}

/// The formats of the files have versions, so the command can still read most of what the library writes.
void warn_of_other_version() {
    const std::string library = find_library().value_or("");
    const std::string version = library_version(library);
    if (version.empty() || version == AOTI_DBG_VERSION) return;
    message(
        Severity::warn,
        "%s: expected version %s (this command's), got %s. The program starts nevertheless, but its report "
        "may be incomplete. Install the command and the library from the same release.",
        library.c_str(), AOTI_DBG_VERSION, version.c_str());
}

/// Warns only about a typed flag, because a variable may be set for many commands.
void warn_of_no_verdict(const RunRequest& request, const Options& options) {
    const auto is_verdict = [](const auto& variable) { return variable.first == "AOTI_DBG_VERDICT_FILE"; };
    const bool is_typed = std::any_of(request.variables.begin(), request.variables.end(), is_verdict);
    if (!is_typed || options.verdict_file.empty() || options.triage || options.hang != 0) return;
    message(Severity::warn, "no verdict will be written to %s: no option asks for a report. Add --triage.",
            options.verdict_file.c_str());
}

/// Blocks the signals that this process waits for. SIGCHLD gets its default action, because an inherited
/// SIG_IGN would lose the child's exit status. The child calls restore().
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
    /// Waits at most that many seconds, or without limit for 0. On a timeout, si_signo is 0.
    [[nodiscard]] siginfo_t wait(std::time_t seconds) const {
        siginfo_t info{};
        const timespec most{seconds, 0};
        while (sigtimedwait(&awaited_, &info, seconds == 0 ? nullptr : &most) == -1) {
            if (errno == EAGAIN) return {};
        }
        return info;
    }

  private:
    sigset_t awaited_{};
    sigset_t mask_before_{};
    struct sigaction child_before_ {};
};

/// Ends the child if SIGKILL ends this process, as time limits do, because nothing else can forward that
/// signal.
void end_with(pid_t parent) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    // The parent may have ended already. 0 means that it is in another process namespace.
    const pid_t now = getppid();
    if (now != parent && now != 0) raise(SIGKILL);
}

/// Starts the program. Returns 0, or the errno of a failed exec.
int start(const std::vector<std::string>& program, const Signals& signals, const TallyPage& tally,
          pid_t& child) {
    std::array<int, 2> report{};
    if (pipe2(report.data(), O_CLOEXEC) != 0) return errno;
    std::vector<char*> arguments;
    arguments.reserve(program.size() + 1);
    for (const std::string& argument : program)
        arguments.push_back(const_cast<char*>(argument.c_str()));
    arguments.push_back(nullptr);
    const pid_t parent = getpid();
    child = fork();
    if (child == 0) {
        end_with(parent);
        tally.mark_start();
        signals.restore();
        execvp(arguments[0], arguments.data());
        const int reason = errno;
        // If even this write fails, exit code 127 is the best remaining report.
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

/// The first signal that asked the program to end.
struct Stop {
    int signal = 0;  // 0 if none
    std::uint64_t unix_ns = 0;
};

bool is_to_end(int signal) {
    return signal == SIGINT || signal == SIGTERM || signal == SIGHUP || signal == SIGQUIT;
}

// After SIGTERM, most supervisors send SIGKILL about ten seconds later, also to this process.
constexpr std::time_t kToEnd = 3;

/// Orphans become children of a container's first process and of a subreaper.
bool is_parent_of_orphans() {
    int is_subreaper = 0;
    return getpid() == 1 || (prctl(PR_GET_CHILD_SUBREAPER, &is_subreaper) == 0 && is_subreaper != 0);
}

/// Reaps ended children, whose process table entries would otherwise outlive them. Returns whether `child`
/// was among them, with its status.
bool reap_up_to(pid_t child, int& status) {
    pid_t ended = 0;
    do {
        ended = waitpid(-1, &status, WNOHANG);
    } while (ended > 0 && ended != child);
    return ended == child;
}

/// Waits for the child to end. The terminal's signals reach the whole process group, including the child. A
/// signal that only this process receives is forwarded to the child. `does_not_end` is called once if the
/// child still runs some seconds after the first signal that asked it to end.
int wait_for(pid_t child, const Signals& signals, Stop& stop, const std::function<void()>& does_not_end) {
    bool is_reported = false;
    const bool inherits_orphans = is_parent_of_orphans();
    while (true) {
        const siginfo_t info = signals.wait(stop.signal != 0 && !is_reported ? kToEnd : 0);
        if (info.si_signo == 0) {
            is_reported = true;
            does_not_end();
            continue;
        }
        if (info.si_signo != SIGCHLD) {
            if (stop.signal == 0 && is_to_end(info.si_signo)) stop = {info.si_signo, unix_nanoseconds()};
            if (info.si_code != SI_KERNEL) kill(child, info.si_signo);
            continue;
        }
        int status = 0;
        if (waitpid(child, &status, WNOHANG) == child) return status;
        if (inherits_orphans && reap_up_to(child, status)) return status;
    }
}

/// Prevents a second core dump: the child's exists, and one of this process would overwrite it or reach a
/// crash handler.
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

/// The program, from its start on.
struct StartedProgram {
    const RunRequest& request;
    const TallyPage& tally;
    const Audience& audience;
    pid_t child = -1;
    Stop stop = {};
    std::optional<std::string> hang_report = {};

    [[nodiscard]] EndedRun run() const {
        EndedRun run;
        run.command = request.program;
        run.folder = folder_of(child, tally.start_unix_ns());
        run.start_unix_ns = static_cast<std::uint64_t>(tally.start_unix_ns());
        run.pid = child;
        run.stopped_by = stop.signal;
        run.stopped_unix_ns = stop.unix_ns;
        run.seen = tally.seen();
        return run;
    }
};

Audience asked_for(const RunRequest& request, const Options& options) {
    Audience audience = audience_of(options);
    audience.github = request.annotates_github;
    audience.junit = request.junit;
    return audience;
}

ProgramEnd program_end(int status, const TallyPage& tally) {
    constexpr std::uint64_t kAtOnce = 1'000'000'000;
    if (WIFEXITED(status)) return WEXITSTATUS(status) == 0 ? ProgramEnd::well : ProgramEnd::badly;
    const auto start = static_cast<std::uint64_t>(tally.start_unix_ns());
    return unix_nanoseconds() - start < kAtOnce ? ProgramEnd::killed_at_once : ProgramEnd::badly;
}

/// Returns the kills that `before` does not include.
std::optional<std::uint64_t> oom_kills_since(const std::optional<std::uint64_t>& before) {
    const std::optional<std::uint64_t> now = count_of_oom_kills();
    if (!before || !now || *now < *before) return std::nullopt;
    return *now - *before;
}

/// Calls `report`, which must not change how the program ends. Returns whether it succeeded.
template <typename Report>
bool try_report(Report report) {
    try {
        report();
        return true;
    } catch (const std::exception& error) {
        error_message(
            ErrorCode::report_not_made,
            "cannot make the report: %s. The recorded files remain. Run `aoti-dbg report` to read them.",
            error.what());
        return false;
    }
}

void report_running(StartedProgram& program) {
    try_report([&program] {
        EndedRun running = program.run();
        running.has_status = false;
        program.hang_report = report_hang(running, program.audience);
    });
}

/// Returns the number of findings, or nothing if there is no report.
std::optional<std::uint64_t> report_ended(const StartedProgram& program, int status,
                                          std::optional<std::uint64_t> oom_kills,
                                          const RequirementResult& requirement) {
    std::uint64_t findings = 0;
    const bool is_reported = try_report([&] {
        EndedRun ended = program.run();
        ended.status = status;
        ended.oom_kills = oom_kills;
        ended.earlier_report = program.hang_report;
        findings = report_run(ended, program.audience, requirement);
    });
    return is_reported ? std::optional(findings) : std::nullopt;
}

/// Prints why the program did not start. Returns the exit code.
int report_not_started(const char* name, pid_t child, int reason) {
    if (child < 0) {
        error_message(ErrorCode::program_not_started,
                      "cannot start a process: %s. Check the process limit (ulimit -u).",
                      errno_text(reason).c_str());
        return kOwnTrouble;
    }
    error_message(
        ErrorCode::program_not_started, "cannot execute %s: %s. %s", name, errno_text(reason).c_str(),
        reason == ENOENT
            ? "Check its name, PATH and, for a script, the interpreter in its first line."
            : "Check that it is a program or a script with an interpreter, and that you may execute it.");
    return reason == ENOENT ? kNotFound : kNotExecutable;
}

}  // namespace

int run_program(const RunRequest& request) {
    const FoundObstacle finding = find_obstacle(request.program.front(), Caller::current());
    // Such a loader fails if it cannot load a preloaded library, and running the program has priority.
    const bool preload = finding.obstacle != Obstacle::other_loader;
    const TallyPage tally;
    const std::optional<Options> options = set_environment(request, preload, tally.path());
    if (!options) return kOwnTrouble;
    if (preload) warn_of_other_version();
    warn_of(finding, preload);
    warn_of_no_verdict(request, *options);
    std::optional<OutPlace> place(std::in_place, *options, tally.start_unix_ns());
    const Audience audience = asked_for(request, *options);
    const std::optional<std::uint64_t> oom_kills = count_of_oom_kills();
    timespec started{};
    // File times come from this clock.
    clock_gettime(CLOCK_REALTIME_COARSE, &started);
    const Signals signals;
    StartedProgram program{request, tally, audience};
    const int reason = start(request.program, signals, tally, program.child);
    int status = 0;
    if (program.child > 0)
        status = wait_for(program.child, signals, program.stop, [&program] { report_running(program); });
    if (reason != 0) return report_not_started(request.program.front().c_str(), program.child, reason);
    const std::string log = value_of("AOTI_DBG_LOG");
    if (!log.empty() && !is_stream(log)) trim_log(log, program.child, started);
    const bool exited_normally = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    const RequirementResult requirement =
        judge(request.requirement.value_or(options->ci ? Requirement::model : Requirement::none),
              tally.seen(), finding, may_select(*options), program_end(status, tally));
    std::optional<std::uint64_t> findings = 0;
    if (audience.any() || request.error_exitcode) {
        findings = report_ended(program, status, oom_kills_since(oom_kills), requirement);
        if (exited_normally && !findings) return kOwnTrouble;  // without a report, success is unproven
    }
    if (request.verifies_captures)
        verify_captures(program.run().folder, program.run().start_unix_ns, [&signals] { signals.restore(); });
    place.reset();
    if (exited_normally && !requirement.is_met) return kSawNothing;
    if (exited_normally && findings != 0) return request.error_exitcode.value_or(options->ci ? 1 : 0);
    if (WIFEXITED(status)) return WEXITSTATUS(status);
    end_by(WTERMSIG(status));
    return 128 + WTERMSIG(status);
}

}  // namespace aoti_dbg::cli
