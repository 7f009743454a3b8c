// See triage.hpp. It chooses the process from summaries of all rings, then reads that ring again for the
// calls.
#include "triage/gather/triage.hpp"

#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <iterator>
#include <sstream>
#include <thread>

#include "base/words.hpp"
#include "serializer/ended_launches.hpp"
#include "triage/gather/awaited_child.hpp"
#include "triage/gather/call_facts.hpp"
#include "triage/gather/chosen_process.hpp"
#include "triage/gather/dumped_faults.hpp"
#include "triage/gather/environment_facts.hpp"
#include "triage/gather/fault_suspects.hpp"
#include "triage/gather/finding_details.hpp"
#include "triage/gather/gpu_counters.hpp"
#include "triage/gather/hang_facts.hpp"
#include "triage/gather/machine_facts.hpp"
#include "triage/gather/memory_facts.hpp"
#include "triage/gather/recorded_calls.hpp"
#include "triage/gather/recorded_processes.hpp"
#include "triage/gather/reproduction.hpp"

namespace aoti_dbg {
namespace {

/// Returns the call whose arguments are in the report, or null if there is none.
CrashCall* reported_call(CrashReport& report) {
    if (report.faulted) return &*report.faulted;
    if (!report.suspects.empty()) return nullptr;
    if (report.in_flight.size() == 1) return &report.in_flight.front();
    return report.in_flight.empty() && report.reported_failure() != nullptr ? &*report.failed : nullptr;
}

/// Adds the process's environment. CUDA_LAUNCH_BLOCKING in it makes launches wait for their kernels.
void add_variables(const RecordedProcess* told, CrashReport& report) {
    if (told != nullptr && told->facts.pid != 0) report.variables = told->facts.variables;
}

/// True if launches return only after their kernel has ended.
bool launches_wait(const CrashReport& report) {
    const auto says_so = [](const auto& variable) {
        return variable.first == "CUDA_LAUNCH_BLOCKING" && variable.second != "0";
    };
    return std::any_of(report.variables.begin(), report.variables.end(), says_so);
}

bool has_lost_context(const ring::Record& record) {
    return ring::returns_cuda_error(record.kind) && ends_context(record.result);
}

bool has_findings(const EndedRun& run) {
    if (run.seen && run.seen->findings != 0) return true;
    return recorded_events(run.folder, run.start_unix_ns, std::nullopt, ~0U).finding_count != 0;
}

/// True if the thread that received the signal, which made no calls, may have worked for a call. An op's own
/// threads and OpenMP's do. A driver thread may crash after a lost context, and a thread of the library
/// aborts for a finding.
bool may_be_worker(const EndedRun& run, const CrashReport& report, bool has_lost_context) {
    const CrashEnd& end = report.end;
    return end.is_foreign_thread && is_fault(end.signal) && !has_lost_context &&
           (end.signal != SIGABRT || !has_findings(run));
}

/// True if the launch is reported for what its kernel did, or may have done, on the device.
bool is_launch_at_fault(const ring::Record& record, const CrashReport& report) {
    const CrashCall* const failed = report.reported_failure();
    return ring::is_launch(record.kind) && !report.hang &&
           (report.faulted || (failed != nullptr && failed->sequence == record.seq));
}

/// True if its kernel ran at the launch, not later in a graph that captured it.
bool ran_when_launched(const RecordedCalls& calls, const ring::Call& launch, const CrashReport& report) {
    if (!calls.may_be_replayed(launch) || launch.record->mark != 0)
        return true;  // captured launches have no
                      // marker
    return report.device && report.device->launch != 0 && report.device->launch == launch.record->launch;
}

/// Adds earlier and in-flight calls. For a device fault, streams matter rather than threads.
void add_neighbours(const ring::Contents& ring, const RecordedCalls& calls,
                    const std::optional<ring::Call>& about, CrashReport& report) {
    if (!about || !is_launch_at_fault(*about->record, report)) {
        report.before = calls.before(about);
        return;
    }
    report.before = calls.before_on_stream(*about);
    report.before_elsewhere = calls.before_elsewhere(*about);
    if (!report.faulted || !report.unended.empty() || !ran_when_launched(calls, *about, report)) return;
    const std::vector<ring::Call> unended = unended_beside(ring, *about);
    report.unended_count = unended.size();
    for (std::size_t i = 0; i < std::min(unended.size(), kMostUnended); ++i)
        report.unended.push_back(calls.launch_details(unended[i]));
}

/// Adds the calls in the process's ring. If the process exited normally, calls that other threads had open do
/// not count.
void add_calls(const RecordedProcess& process, const EndedRun& run, CrashReport& report) {
    const Result<ring::Contents> read = ring::read_flight_ring(process.ring);
    if (!read.ok()) {
        report.notes.push_back(read.status().message());
        return;
    }
    report.notes.insert(report.notes.end(), read.value().notes.begin(), read.value().notes.end());
    const RecordedCalls calls(read.value());
    const std::vector<ring::Thread>& threads = read.value().threads;
    report.end.is_foreign_thread =
        report.end.thread != 0 && std::none_of(threads.begin(), threads.end(), [&](const ring::Thread& one) {
            return one.tid == report.end.thread;
        });
    const std::optional<ring::Call> failed = calls.failed();
    if (failed) report.failed = calls.told(*failed);
    const bool is_last_error = failed && has_lost_context(*failed->record);
    std::vector<ring::Call> in_flight = calls.in_flight(process.ended);
    // In a hang or a device fault, the thread that received the signal is not the one at fault.
    const bool is_of_all =
        report.hang || report.device || (!in_flight.empty() && may_be_worker(run, report, is_last_error));
    const std::uint32_t thread = is_of_all ? 0 : report.end.thread;
    const auto others = std::stable_partition(
        in_flight.begin(), in_flight.end(),
        [&](const ring::Call& call) { return thread == 0 || call.thread->tid == thread; });
    for (auto call = in_flight.begin(); call != in_flight.end(); ++call)
        (call < others ? report.in_flight : report.also_in_flight).push_back(calls.told(*call));
    in_flight.erase(others, in_flight.end());
    // A failure in one thread may raise a signal while other threads continue.
    report.failed_survived = failed && !is_last_error && calls.any_run_after(*failed, report.end.signal != 0);
    // The program continued despite a launch that no call waits for, and ended for another reason.
    const bool is_unawaited =
        report.hang && report.hang->calls.front().nobody_waits && !report.hang->is_recorded;
    if (is_unawaited && failed && !report.failed_survived && report.end.signal == 0) report.hang.reset();
    report.failed_alone = failed && launches_wait(report) && calls.was_alone(*failed);
    const std::optional<ring::Call> last = calls.last();
    if (const auto own = calls.last(thread); in_flight.empty() && own) report.last = calls.told(*own);
    std::optional<ring::Call> about;
    if (report.device) {
        bool is_certain = false;
        about = calls.launch_of(*report.device, is_certain);
        if (about) report.faulted = calls.told(*about);
        if (about) report.faulted->is_likely = !is_certain;
    }
    const std::optional<ring::Call> launch =
        about && !calls.may_be_replayed(*about) ? about : std::nullopt;  // otherwise its time is meaningless
    if (report.hang && !report.device) {
        const bool waits = !report.hang->unended.empty();
        about = calls.of_sequence(waits ? report.hang->unended.front().sequence
                                        : report.hang->calls.front().call.sequence);
        if (about && !RecordedCalls::is_call(*about->record)) about.reset();
        if (about) report.faulted = calls.told(*about);
        if (about) report.faulted->is_likely = waits && !report.hang->by_markers;
    }
    if (!about) about = find_suspects(packages_of(process), read.value(), calls, report);
    if (!about && report.suspects.empty() && in_flight.size() == 1) about = in_flight.front();
    if (!about && report.suspects.empty() && in_flight.empty() && report.reported_failure() != nullptr)
        about = failed;
    if (!report.hang) {
        for (const StuckCall& open : open_calls(read.value(), 0))
            if (open.call.kind == ring::CallKind::wait)
                report.notes.push_back("thread " + std::to_string(open.call.thread) +
                                       " had not returned from " + open.call.name);
    }
    add_neighbours(read.value(), calls, about, report);
    if (report.failed && report.reported_failure() == nullptr)
        report.notes.push_back("earlier, " + failure_text(*report.failed) + ", but later runs succeeded");
    if (about)
        add_call_facts(process, calls, *about, *reported_call(report), report);
    else if (report.device)
        place_fault(report);
    add_memory_facts(process, {launch, failed, last}, report);
}

/// Returns the finding of a run that failed or was in progress, else the first one.
const RecordedFinding* reported_finding(const std::vector<RecordedFinding>& findings,
                                        const CrashReport& report) {
    if (findings.empty()) return nullptr;
    const CrashCall* const failed = report.reported_failure();
    const auto is_of_end = [&](const RecordedFinding& recorded) {
        const auto is_its = [&recorded](const CrashCall& call) {
            return is_of_run_of(recorded.finding, call);
        };
        return (failed != nullptr && is_its(*failed)) ||
               std::any_of(report.in_flight.begin(), report.in_flight.end(), is_its);
    };
    const auto found = std::find_if(findings.begin(), findings.end(), is_of_end);
    return found == findings.end() ? &findings.front() : &*found;
}

/// Returns the process of the reported finding; 0: none.
std::uint32_t add_events(const EndedRun& run, Triage& triage) {
    CrashReport& report = triage.report;
    CrashCall* const call = reported_call(report);
    std::optional<RequestedCall> wanted;
    if (call != nullptr) wanted = {report.end.pid, call->sequence};
    RecordedEvents events =
        recorded_events(run.folder, run.start_unix_ns, wanted, call == nullptr ? ~0U : call->model);
    report.findings = events.finding_count;
    if (run.seen && run.seen->findings > report.findings) {
        report.notes.push_back(
            "the processes counted " + counted(run.seen->findings, "finding") +
            ", but not all are in this folder: some processes could not write to it, or used another one. "
            "Check AOTI_DBG_OUT");
        report.findings = run.seen->findings;
    }
    const RecordedFinding* const told = reported_finding(events.findings, report);
    const std::uint32_t pid = told == nullptr ? 0 : told->pid;
    if (told != nullptr) report.finding = told->finding;
    for (RecordedFinding& recorded : events.findings)
        triage.findings.push_back(std::move(recorded.finding));
    if (!events.arguments.empty()) take_measured(std::move(events.arguments), report.arguments);
    if (call != nullptr) add_model_details(events, *call);
    return pid;
}

bool has_device_error(const CrashReport& report) {
    if (report.device) return true;
    return report.failed && returns_cuda_error(report.failed->kind) && report.failed->result != 0;
}

/// Runs in a child, because the query may never return.
void add_troubles_of_gpus(CrashReport& report) {
    constexpr std::chrono::milliseconds kDeadline(2000);
    std::istringstream lines(run_child({"doctor", "--child", kCountersTrial}, kDeadline).out);
    for (std::string line; std::getline(lines, line);)
        report.notes.push_back(line);
}

bool is_worth_reporting(const CrashReport& report) {
    if (report.end.signal != 0 || report.findings != 0 || report.device || report.hang) return true;
    if (report.unrecorded_error != 0) return true;
    return report.end.exit_status.value_or(0) != 0 &&
           (report.failed || !report.in_flight.empty() || report.shortage);
}

/// A signal that ended the program may also have reached its children, which take a moment to exit.
std::vector<RecordedProcess> finished_processes(const EndedRun& run) {
    constexpr int kMostTries = 40;
    constexpr auto kNap = std::chrono::milliseconds(50);
    for (int tries = 0;; ++tries) {
        std::vector<RecordedProcess> processes = recorded_processes(run.folder, run.start_unix_ns);
        const bool may_change =
            run.has_status && WIFSIGNALED(run.status) && !run.asks_itself && tries < kMostTries;
        const auto is_inside = [](const RecordedProcess& p) { return p.is_running && p.has_open_calls; };
        if (!may_change || std::none_of(processes.begin(), processes.end(), is_inside)) return processes;
        std::this_thread::sleep_for(kNap);
    }
}

}  // namespace

Triage inspect(const EndedRun& run) {
    Triage triage;
    CrashReport& report = triage.report;
    std::vector<RecordedProcess> processes = finished_processes(run);
    for (RecordedProcess& process : processes)
        if (run.asks_itself && process.pid == static_cast<std::uint32_t>(run.pid)) process.is_running = false;
    // A program may exit successfully after a kernel fault if it does not use the device again.
    const RecordedProcess* chosen = first_fault(processes, run, report);
    if (chosen == nullptr) {
        chosen = longest_hang(processes, run, report);
        if (chosen != nullptr && report.hang->is_recorded)
            add_running_kernel(*chosen, run, report);
        else
            note_asked_dumps(processes, run, report);
    }
    if (chosen == nullptr) chosen = choose(processes, run);
    const auto has_dead_context = [](const RecordedProcess& process) { return process.has_dead_context; };
    if (chosen == nullptr) chosen = first_to_fail(processes, has_dead_context);
    report.end = end_of(run, chosen);
    std::vector<std::string> unexplained = unexplained_ends(processes, run, chosen);
    const bool has_unexplained = !unexplained.empty() && report.end.exit_status.value_or(0) != 0;
    std::move(unexplained.begin(), unexplained.end(), std::back_inserter(report.notes));
    for (std::string& failed : failed_calls_of_others(processes, chosen))
        report.notes.push_back(std::move(failed));
    const bool is_ours = run.has_status || run.stopped_by != 0;
    add_start(processes, run, report);
    // If the process did not record its variables, this process's apply, provided that it started the
    // program.
    report.variables = is_ours ? relevant_variables() : NamedTexts();
    add_variables(chosen, report);
    if (is_ours && !run.has_status)
        report.notes.push_back("the program was still running some seconds after " +
                               signal_name(run.stopped_by));
    report.oom_kills = run.oom_kills;
    report.processes = processes.size();
    report.loaded = run.seen ? run.seen->loaded : 0;
    report.recording = run.seen ? run.seen->recording : 0;
    report.unrecorded_error = run.seen ? run.seen->cuda_error : 0;
    for (const RecordedProcess& process : processes) {
        report.runs += process.runs;
        report.calls += process.calls;
        report.uses_cuda |= process.uses_cuda;
    }
    if (chosen != nullptr) add_calls(*chosen, run, report);
    const std::uint32_t finder = add_events(run, triage);
    if (is_about_finding(report)) {
        const RecordedProcess* const found =
            last_of(processes, [finder](const RecordedProcess& process) { return process.pid == finder; });
        add_finding_details(run, found, report);
        // No process is chosen for a program that exited successfully.
        if (chosen == nullptr) report.end = end_of(run, found);
        if (found != nullptr) chosen = found;
        add_variables(chosen, report);
    }
    add_environment(chosen, run, report);
    report.library = AOTI_DBG_VERSION;
    if (has_device_error(report)) add_troubles_of_gpus(report);
    conclude(report);
    const bool is_told_by_ring = !run.has_status && (report.failed || !report.in_flight.empty());
    const bool is_of_lost_context = chosen != nullptr && chosen->has_dead_context && report.failed;
    triage.is_worth_reporting =
        is_worth_reporting(report) || is_told_by_ring || is_of_lost_context || has_unexplained;
    return triage;
}

}  // namespace aoti_dbg
