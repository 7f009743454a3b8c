// Starts the program as a child, hands on what is sent to us alone, and ends as the child ended.
// Must not change anything about the child but its environment, and that it does not outlive us: signal mask
// and dispositions are put back.
#include "cli/run/run.hpp"

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
#include "cli/run/log_padding.hpp"
#include "cli/run/out_place.hpp"
#include "cli/run/preloadable.hpp"
#include "cli/run/run_environment.hpp"
#include "config/pattern.hpp"
#include "config/selection.hpp"
#include "triage/gather/machine_facts.hpp"
#include "triage/gather/tally_page.hpp"

namespace aoti_dbg::cli {
namespace {

constexpr std::array kForwarded = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

/// Where the preload is left to the program, what it starts in its turn may load the library all the same;
/// but a secure start takes LD_PRELOAD out of the environment.
void warn_of(const Finding& finding, bool preload) {
    if (finding.obstacle == Obstacle::none) return;
    const bool passes_on = preload && finding.obstacle != Obstacle::secure_execution;
    message(Severity::warn, "%s %s. %s%s %s", finding.file.c_str(), finding.why.c_str(),
            preload ? "The program starts nevertheless." : "The program starts without the library.",
            passes_on ? " Programs that it starts may still be recorded." : "", finding.advice.c_str());
}

/// A variable may be set for many commands, a flag is typed for this one.
void warn_of_no_verdict(const RunRequest& request, const Options& options) {
    const auto is_verdict = [](const auto& variable) { return variable.first == "AOTI_DBG_VERDICT_FILE"; };
    const bool is_typed = std::any_of(request.variables.begin(), request.variables.end(), is_verdict);
    if (!is_typed || options.verdict_file.empty() || options.triage || options.hang != 0) return;
    message(Severity::warn, "no verdict will be written to %s: no option asks for a report. Add --triage.",
            options.verdict_file.c_str());
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
    /// At most so many seconds, 0: for ever. Without a signal its number is 0.
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

/// Whoever ends us by SIGKILL, as time limits do, means the program: nobody else could hand that on.
void end_with(pid_t parent) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    // It may be gone already; 0 is a parent in another namespace of processes.
    const pid_t now = getppid();
    if (now != parent && now != 0) raise(SIGKILL);
}

/// Starts the program; returns 0 or the errno of why it could not be executed.
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

/// What was sent to end the program while it ran, the first of it.
struct Stop {
    int signal = 0;  // 0: nothing
    std::uint64_t unix_ns = 0;
};

bool is_to_end(int signal) {
    return signal == SIGINT || signal == SIGTERM || signal == SIGHUP || signal == SIGQUIT;
}

// Whoever sends SIGTERM mostly sends SIGKILL, to us as well, some ten seconds later.
constexpr std::time_t kToEnd = 3;

/// Of a container's first process, or whoever has asked for it, orphans become children.
bool is_parent_of_orphans() {
    int is_subreaper = 0;
    return getpid() == 1 || (prctl(PR_GET_CHILD_SUBREAPER, &is_subreaper) == 0 && is_subreaper != 0);
}

/// Else their entries in the table of processes stay as long as we do. Returns whether `child` was among
/// those that have ended, with its status.
bool reap_up_to(pid_t child, int& status) {
    pid_t ended = 0;
    do {
        ended = waitpid(-1, &status, WNOHANG);
    } while (ended > 0 && ended != child);
    return ended == child;
}

/// Waits for the child's end. What the terminal sends reaches the whole process group, the child too; what
/// somebody sends to us alone is meant for the child. `does_not_end` is called once, should the child still
/// run some seconds after the first that was to end it.
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

/// Where the library writes in the process that was started.
std::string folder_of(const TallyPage& tally, pid_t child) {
    std::string pattern = value_of("AOTI_DBG_OUT");
    while (pattern.size() > 1 && pattern.back() == '/')
        pattern.pop_back();
    return expand_pattern(pattern, std::getenv, Origin{child, tally.start_unix_ns() / 1000000000});
}

EndedRun started_run(const RunRequest& request, const TallyPage& tally, pid_t child, const Stop& stop) {
    EndedRun run;
    run.command = request.program;
    run.folder = folder_of(tally, child);
    run.start_unix_ns = static_cast<std::uint64_t>(tally.start_unix_ns());
    run.pid = child;
    run.stopped_by = stop.signal;
    run.stopped_unix_ns = stop.unix_ns;
    run.seen = tally.seen();
    return run;
}

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

/// What `before` did not count yet.
std::optional<std::uint64_t> oom_kills_since(const std::optional<std::uint64_t>& before) {
    const std::optional<std::uint64_t> now = count_of_oom_kills();
    if (!before || !now || *now < *before) return std::nullopt;
    return *now - *before;
}

/// What is told of a program changes nothing about how it ends. Returns whether it could be told.
template <typename Tell>
bool could(Tell tell) {
    try {
        tell();
        return true;
    } catch (const std::exception& error) {
        error_message(
            ErrorCode::report_not_made,
            "cannot make the report: %s. The recorded files remain. Run `aoti-dbg report` to read them.",
            error.what());
        return false;
    }
}

}  // namespace

int run(const RunRequest& request) {
    const Finding finding = find_obstacle(request.program.front(), Caller::current());
    // Such a loader ends over a library that it cannot load; the program comes before what we want to see.
    const bool preload = finding.obstacle != Obstacle::other_loader;
    const TallyPage tally;
    const std::optional<Options> options = set_environment(request, preload, tally.path());
    if (!options) return kOwnTrouble;
    warn_of(finding, preload);
    warn_of_no_verdict(request, *options);
    std::optional<OutPlace> place(std::in_place, *options, tally.start_unix_ns());
    const Audience audience = asked_for(request, *options);
    const std::optional<std::uint64_t> oom_kills = count_of_oom_kills();
    timespec started{};
    // The clock that file times are taken from.
    clock_gettime(CLOCK_REALTIME_COARSE, &started);
    const Signals signals;
    pid_t child = -1;
    const int reason = start(request.program, signals, tally, child);
    const char* const name = request.program.front().c_str();
    if (child < 0) {
        error_message(ErrorCode::program_not_started,
                      "cannot start a process: %s. Check the process limit (ulimit -u).",
                      errno_text(reason).c_str());
        return kOwnTrouble;
    }
    Stop stop;
    std::optional<std::string> hang_report;
    const int status = wait_for(child, signals, stop, [&] {
        could([&] {
            EndedRun running = started_run(request, tally, child, stop);
            running.has_status = false;
            hang_report = report_hang(running, audience);
        });
    });
    if (reason != 0) {
        error_message(
            ErrorCode::program_not_started, "cannot execute %s: %s. %s", name, errno_text(reason).c_str(),
            reason == ENOENT
                ? "Check its name, PATH and, for a script, the interpreter in its first line."
                : "Check that it is a program or a script with an interpreter, and that you may execute it.");
        return reason == ENOENT ? kNotFound : kNotExecutable;
    }
    const std::string log = value_of("AOTI_DBG_LOG");
    if (!log.empty() && !is_stream(log)) trim_log(log, child, started);
    const bool ended_well = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    const Requirement wanted =
        request.requirement.value_or(options->ci ? Requirement::model : Requirement::none);
    const RequirementResult requirement =
        judge(wanted, tally.seen(), finding, may_select(*options), program_end(status, tally));
    std::uint64_t findings = 0;
    if (audience.any() || request.error_exitcode) {
        const bool is_reported = could([&] {
            EndedRun ended = started_run(request, tally, child, stop);
            ended.status = status;
            ended.oom_kills = oom_kills_since(oom_kills);
            ended.earlier_report = hang_report;
            findings = tell(ended, audience, requirement);
        });
        if (ended_well && !is_reported) return kOwnTrouble;  // that all is well nobody knows
    }
    place.reset();
    if (ended_well && !requirement.is_met) return kSawNothing;
    if (ended_well && findings != 0) return request.error_exitcode.value_or(options->ci ? 1 : 0);
    if (WIFEXITED(status)) return WEXITSTATUS(status);
    end_by(WTERMSIG(status));
    return 128 + WTERMSIG(status);
}

}  // namespace aoti_dbg::cli
