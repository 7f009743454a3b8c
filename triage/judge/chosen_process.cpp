#include "triage/judge/chosen_process.hpp"

#include <sys/wait.h>

#include <csignal>
#include <functional>

#include "base/words.hpp"

namespace aoti_dbg {
namespace {

constexpr std::size_t kMostNoted = 3;

/// Returns the signal that shells encode in an exit status above 128. Returns 0 unless it is one that ends
/// faulty programs.
int signal_of_status(int status) {
    if (status == 128 + SIGKILL) return SIGKILL;
    return is_fault(status - 128) ? status - 128 : 0;
}

bool is_started(const RecordedProcess& process, const EndedRun& run) {
    return process.pid == static_cast<std::uint32_t>(run.pid);
}

/// True if a signal for a program error ended it. The started program's own status is better evidence.
bool has_crashed(const RecordedProcess& process, const EndedRun& run) {
    if (run.has_status && is_started(process, run)) return false;
    return !process.ended && is_fault(process.signal);
}

/// True for signals sent from outside, or by a program to itself after a timeout. The other signals report a
/// program error.
bool may_end_a_hang(int signal) {
    for (const int one : {SIGABRT, SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGKILL, SIGALRM, SIGUSR1, SIGUSR2})
        if (signal == one) return true;
    return false;
}

/// "process 4242 (/usr/bin/python3, rank 1)"
std::string name_of(const RecordedProcess& process) {
    const std::string rank = process.facts.rank.empty() ? "" : ", rank " + process.facts.rank;
    return "process " + std::to_string(process.pid) + " (" + process.program + rank + ")";
}

}  // namespace

bool may_be_hang(const EndedRun& run) {
    if (!run.has_status) return true;
    if (WIFSIGNALED(run.status)) return may_end_a_hang(WTERMSIG(run.status));
    return run.stopped_by != 0 || WEXITSTATUS(run.status) != 0;
}

const RecordedProcess* choose(const std::vector<RecordedProcess>& processes, const EndedRun& run) {
    const bool is_signalled = run.has_status && WIFSIGNALED(run.status);
    const RecordedProcess* const started =
        last_of(processes, [&](const RecordedProcess& p) { return is_started(p, run); });
    if (is_signalled && started != nullptr) return started;
    const auto crashed = [&](const RecordedProcess& p) { return has_crashed(p, run); };
    if (const RecordedProcess* const found = first_to_fail(processes, crashed)) return found;
    if (run.has_status && run.status == 0) return nullptr;
    if (started != nullptr && started->died_inside()) return started;
    const auto died_inside = std::mem_fn(&RecordedProcess::died_inside);
    if (const RecordedProcess* const died = last_of(processes, died_inside)) return died;
    if (is_signalled) return nullptr;
    const auto has_failed = [](const RecordedProcess& p) { return p.has_failed_call; };
    if (const RecordedProcess* const failed = first_to_fail(processes, has_failed)) return failed;
    const RecordedProcess* const vanished = last_of(processes, std::mem_fn(&RecordedProcess::has_vanished));
    if (!run.has_status) return vanished;
    const bool is_vanished = started == nullptr || signal_of_status(WEXITSTATUS(run.status)) != 0;
    return is_vanished && vanished != nullptr ? vanished : started;
}

CrashEnd end_of(const EndedRun& run, const RecordedProcess* process) {
    CrashEnd end;
    end.pid = process == nullptr ? static_cast<std::uint32_t>(run.pid) : process->pid;
    end.program = process == nullptr ? run.command.front() : process->program;
    if (process != nullptr) end.folder = process->folder;
    if (process != nullptr) end.rank = process->facts.rank;
    end.is_descendant = end.pid != static_cast<std::uint32_t>(run.pid);
    end.is_normal_exit = process != nullptr && process->ended;
    end.is_running = !run.has_status && (process == nullptr || process->is_running);
    const bool has_exited = run.has_status && WIFEXITED(run.status);
    if (has_exited) end.exit_status = WEXITSTATUS(run.status);
    if (process != nullptr && has_crashed(*process, run)) {
        end.signal = process->signal;
    } else if (run.has_status && WIFSIGNALED(run.status)) {
        end.signal = WTERMSIG(run.status);
        end.signal_is_guessed = end.is_descendant;
    } else if (has_exited && (process == nullptr || !process->ended)) {
        end.signal = signal_of_status(*end.exit_status);
        end.signal_is_guessed = end.signal != 0;
    }
    const bool is_noted = process != nullptr && process->signal == end.signal && is_fault(end.signal);
    if (is_noted) end.thread = process->signal_thread;
    if (is_noted) end.address = process->address;
    return end;
}

std::vector<std::string> unexplained_ends(const std::vector<RecordedProcess>& processes, const EndedRun& run,
                                          const RecordedProcess* chosen) {
    std::vector<std::string> clauses;
    const bool has_exited_normally = run.has_status && WIFEXITED(run.status) && WEXITSTATUS(run.status) == 0;
    std::size_t more = 0;
    for (const RecordedProcess& process : processes) {
        const bool is_reported = &process == chosen || (run.has_status && is_started(process, run));
        // Children that a successful program killed itself did not crash.
        if (is_reported || !process.has_vanished() || (has_exited_normally && !is_fault(process.signal)))
            continue;
        if (clauses.size() == kMostNoted) {
            ++more;
            continue;
        }
        clauses.push_back(name_of(process) + (process.signal == 0
                                                  ? " ended abnormally, possibly by SIGKILL"
                                                  : " ended with " + signal_name(process.signal)));
    }
    if (more != 0) clauses.push_back(std::to_string(more) + " more ended abnormally");
    return clauses;
}

std::vector<std::string> failed_calls_of_others(const std::vector<RecordedProcess>& processes,
                                                const RecordedProcess* chosen) {
    std::vector<std::string> clauses;
    std::size_t more = 0;
    for (const RecordedProcess& process : processes) {
        if (&process == chosen || !process.has_failed_call) continue;
        if (clauses.size() == kMostNoted)
            ++more;
        else
            clauses.push_back("in " + name_of(process) + ", " + process.failed_call);
    }
    if (more != 0) clauses.push_back("a call failed in " + std::to_string(more) + " more");
    return clauses;
}

}  // namespace aoti_dbg
