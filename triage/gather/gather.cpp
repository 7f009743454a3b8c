// See gather.hpp. It chooses the process from summaries of all rings, then reads that ring again for the
// calls.
#include "triage/gather/gather.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <functional>
#include <iterator>
#include <sstream>
#include <thread>

#include "base/file_bytes.hpp"
#include "base/words.hpp"
#include "serializer/cuda_error.hpp"
#include "serializer/ended_launches.hpp"
#include "serializer/launch_name.hpp"
#include "serializer/launch_record.hpp"
#include "triage/gather/awaited_child.hpp"
#include "triage/gather/call_facts.hpp"
#include "triage/gather/driver_lines.hpp"
#include "triage/gather/dumped_faults.hpp"
#include "triage/gather/fault_suspects.hpp"
#include "triage/gather/finding_details.hpp"
#include "triage/gather/gpu_counters.hpp"
#include "triage/gather/hang_facts.hpp"
#include "triage/gather/machine_facts.hpp"
#include "triage/gather/memory_facts.hpp"
#include "triage/gather/origin_facts.hpp"
#include "triage/gather/recorded_calls.hpp"
#include "triage/gather/recorded_processes.hpp"
#include "triage/gather/reproduction.hpp"
#include "triage/gather/versions.hpp"
#include "triage/judge/chosen_process.hpp"

namespace aoti_dbg {
namespace {

/// Returns the call whose arguments are in the report, or null if there is none.
CrashCall* reported_call(Evidence& evidence) {
    if (evidence.faulted) return &*evidence.faulted;
    if (!evidence.suspects.empty()) return nullptr;
    if (evidence.in_flight.size() == 1) return &evidence.in_flight.front();
    return evidence.in_flight.empty() && evidence.reported_failure() != nullptr ? &*evidence.failed : nullptr;
}

/// Adds the process's environment. CUDA_LAUNCH_BLOCKING in it makes launches wait for their kernels.
void add_variables(const RecordedProcess* process, Evidence& evidence) {
    if (process != nullptr && process->facts.pid != 0) evidence.variables = process->facts.variables;
}

/// True if launches return only after their kernel has ended.
bool launches_wait(const Evidence& evidence) {
    const auto says_so = [](const auto& variable) {
        return variable.first == "CUDA_LAUNCH_BLOCKING" && variable.second != "0";
    };
    return std::any_of(evidence.variables.begin(), evidence.variables.end(), says_so);
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
bool may_be_worker(const EndedRun& run, const Evidence& evidence, bool has_lost_context) {
    const CrashEnd& end = evidence.end;
    return end.is_foreign_thread && is_fault(end.signal) && !has_lost_context &&
           (end.signal != SIGABRT || !has_findings(run));
}

/// True if the launch is reported for what its kernel did, or may have done, on the device.
bool is_launch_at_fault(const ring::Record& record, const Evidence& evidence) {
    const CrashCall* const failed = evidence.reported_failure();
    return ring::is_launch(record.kind) && !evidence.hang &&
           (evidence.faulted || (failed != nullptr && failed->sequence == record.seq));
}

/// True if its kernel ran at the launch, not later in a graph that captured it.
bool ran_when_launched(const RecordedCalls& calls, const ring::Call& launch, const Evidence& evidence) {
    if (!calls.may_be_replayed(launch) || launch.record->mark != 0)
        return true;  // captured launches have no
                      // marker
    return evidence.device && evidence.device->launch != 0 &&
           evidence.device->launch == launch.record->launch;
}

/// Notes whether the launch, or the op that contains it, is captured.
void note_captured(const CrashCall& call, const std::string& folder, Evidence& evidence) {
    constexpr std::uint64_t kMostRecord = std::uint64_t{16} << 20U;
    const std::string path = folder + "/launches/" + launch_name(call.run, call.call);
    const Result<std::string> text = read_regular_file(path, "a captured launch", kMostRecord);
    const Result<LaunchRecord> launch = text.ok() ? read_launch(text.value()) : text.status();
    evidence.is_captured = launch.ok();
    evidence.is_captured_op = launch.ok() && launch.value().kind == LaunchKind::op;
}

/// Adds earlier and in-flight calls. For a device fault, streams matter rather than threads.
void add_neighbors(const ring::Contents& ring, const RecordedCalls& calls,
                   const std::optional<ring::Call>& about, Evidence& evidence) {
    if (!about || !is_launch_at_fault(*about->record, evidence)) {
        evidence.before = calls.before(about);
        return;
    }
    evidence.before = calls.before_on_stream(*about);
    evidence.before_elsewhere = calls.before_elsewhere(*about);
    if (!evidence.faulted || !evidence.unended.empty() || !ran_when_launched(calls, *about, evidence)) return;
    const std::vector<ring::Call> unended = unended_beside(ring, *about);
    evidence.unended_count = unended.size();
    for (std::size_t i = 0; i < std::min(unended.size(), kMostUnended); ++i)
        evidence.unended.push_back(calls.launch_details(unended[i]));
}

/// Adds the open calls. Those of `thread`, 0 for all threads, may be at fault and are returned.
std::vector<ring::Call> add_open_calls(const RecordedCalls& calls, std::vector<ring::Call> open,
                                       std::uint32_t thread, Evidence& evidence) {
    const auto others = std::stable_partition(open.begin(), open.end(), [&](const ring::Call& call) {
        return thread == 0 || call.thread->tid == thread;
    });
    for (auto call = open.begin(); call != open.end(); ++call)
        (call < others ? evidence.in_flight : evidence.also_in_flight).push_back(calls.details(*call));
    open.erase(others, open.end());
    return open;
}

/// Adds what followed the failed call.
void add_aftermath(const RecordedCalls& calls, const ring::Call& failed, Evidence& evidence) {
    // A failure in one thread may raise a signal while other threads continue.
    evidence.failed_survived =
        !has_lost_context(*failed.record) && calls.any_run_after(failed, evidence.end.signal != 0);
    // The program continued despite a launch that no call waits for, and ended for another reason.
    const bool is_unawaited =
        evidence.hang && evidence.hang->calls.front().is_without_wait && !evidence.hang->is_recorded;
    if (is_unawaited && !evidence.failed_survived && evidence.end.signal == 0) evidence.hang.reset();
    evidence.failed_alone = launches_wait(evidence) && calls.was_alone(failed);
}

/// Returns the launch that the core dump is about, or for a hang without one the blocking call.
std::optional<ring::Call> add_faulted(const RecordedCalls& calls, Evidence& evidence) {
    std::optional<ring::Call> faulted;
    bool is_certain = false;
    if (evidence.device) {
        faulted = calls.launch_of(*evidence.device, is_certain);
    } else if (evidence.hang) {
        const Hang& hang = *evidence.hang;
        faulted = calls.of_sequence(hang.unended.empty() ? hang.calls.front().call.sequence
                                                         : hang.unended.front().sequence);
        if (faulted && !RecordedCalls::is_call(*faulted->record)) faulted.reset();
        is_certain = hang.unended.empty() || hang.by_markers;
    }
    if (!faulted) return std::nullopt;
    evidence.faulted = calls.details(*faulted);
    evidence.faulted->is_likely = !is_certain;
    return faulted;
}

/// Notes the threads that wait for the device, which are no calls of the report.
void note_waits(const ring::Contents& ring, Evidence& evidence) {
    for (const StuckCall& open : open_calls(ring, 0))
        if (open.call.kind == ring::CallKind::wait)
            evidence.notes.push_back("thread " + std::to_string(open.call.thread) +
                                     " had not returned from " + open.call.name);
}

/// Returns the calls about which the driver may have logged something.
std::vector<ring::Call> logging_calls(const std::optional<ring::Call>& failed,
                                      const std::optional<ring::Call>& about, const Evidence& evidence) {
    std::vector<ring::Call> calls;
    if (failed && evidence.reported_failure() != nullptr) calls.push_back(*failed);
    if (about) calls.push_back(*about);
    return calls;
}

/// Adds the calls in the process's ring. If the process exited normally, calls that other threads had open do
/// not count.
void add_calls(const RecordedProcess& process, const EndedRun& run, Evidence& evidence) {
    const Result<ring::Contents> read = ring::read_flight_ring(process.ring);
    if (!read.ok()) {
        evidence.notes.push_back(read.status().message());
        return;
    }
    const ring::Contents& ring = read.value();
    evidence.notes.insert(evidence.notes.end(), ring.notes.begin(), ring.notes.end());
    const RecordedCalls calls(ring);
    evidence.end.is_foreign_thread =
        evidence.end.thread != 0 &&
        std::none_of(ring.threads.begin(), ring.threads.end(),
                     [&](const ring::Thread& one) { return one.tid == evidence.end.thread; });
    const std::optional<ring::Call> failed = calls.failed();
    const bool has_lost_it = failed && has_lost_context(*failed->record);
    std::vector<ring::Call> open = calls.in_flight(process.ended);
    // In a hang or a device fault, the thread that received the signal is not the one at fault.
    const bool is_of_all =
        evidence.hang || evidence.device || (!open.empty() && may_be_worker(run, evidence, has_lost_it));
    const std::uint32_t thread = is_of_all ? 0 : evidence.end.thread;
    const std::vector<ring::Call> in_flight = add_open_calls(calls, std::move(open), thread, evidence);
    const std::optional<ring::Call> last = calls.last(thread);
    if (in_flight.empty() && last) evidence.last = calls.details(*last);
    if (failed) evidence.failed = calls.details(*failed);
    if (failed) add_aftermath(calls, *failed, evidence);
    std::optional<ring::Call> about = add_faulted(calls, evidence);
    const bool has_time = about && evidence.device && !calls.may_be_replayed(*about);
    const ReportedCalls reported{has_time ? about : std::nullopt, failed, calls.last()};
    if (!about) about = find_suspects(packages_of(process), ring, calls, evidence);
    if (!about && evidence.suspects.empty() && in_flight.size() == 1) about = in_flight.front();
    if (!about && evidence.suspects.empty() && in_flight.empty() && evidence.reported_failure() != nullptr)
        about = failed;
    if (!evidence.hang) note_waits(ring, evidence);
    if (failed && evidence.reported_failure() == nullptr)
        evidence.notes.push_back("earlier, " + failure_text(*evidence.failed) + ", but later runs succeeded");
    if (evidence.faulted) note_captured(*evidence.faulted, evidence.end.folder, evidence);
    add_neighbors(ring, calls, about, evidence);
    if (about) add_call_facts(process, calls, *about, *reported_call(evidence), evidence);
    add_memory_facts(process, reported, evidence);
    add_driver_lines(process, logging_calls(failed, about, evidence), evidence);
}

/// Returns the finding of a run that failed or was in progress, else the first one.
const RecordedFinding* reported_finding(const std::vector<RecordedFinding>& findings,
                                        const Evidence& evidence) {
    if (findings.empty()) return nullptr;
    const CrashCall* const failed = evidence.reported_failure();
    const auto is_of_end = [&](const RecordedFinding& recorded) {
        const auto is_its = [&recorded](const CrashCall& call) {
            return is_of_run_of(recorded.finding, call);
        };
        return (failed != nullptr && is_its(*failed)) ||
               std::any_of(evidence.in_flight.begin(), evidence.in_flight.end(), is_its);
    };
    const auto found = std::find_if(findings.begin(), findings.end(), is_of_end);
    return found == findings.end() ? &findings.front() : &*found;
}

/// Returns the process of the reported finding; 0: none.
std::uint32_t add_events(const EndedRun& run, OriginFacts& origins, Evidence& evidence) {
    CrashCall* const call = reported_call(evidence);
    std::optional<RequestedCall> requested;
    if (call != nullptr) requested = {evidence.end.pid, call->sequence};
    RecordedEvents events =
        recorded_events(run.folder, run.start_unix_ns, requested, call == nullptr ? ~0U : call->model);
    evidence.finding_count = events.finding_count;
    if (run.seen && run.seen->findings > evidence.finding_count) {
        evidence.notes.push_back(
            "the processes counted " + counted(run.seen->findings, "finding") +
            ", but not all are in this folder: some processes could not write to it, or used another one. "
            "Check AOTI_DBG_OUT");
        evidence.finding_count = run.seen->findings;
    }
    const RecordedFinding* const reported = reported_finding(events.findings, evidence);
    const std::uint32_t pid = reported == nullptr ? 0 : reported->pid;
    if (reported != nullptr) evidence.finding = reported->finding;
    for (RecordedFinding& recorded : events.findings) {
        origins.complete(recorded.pid, recorded.finding);
        evidence.findings.push_back(std::move(recorded.finding));
    }
    if (!events.arguments.empty()) take_measured(std::move(events.arguments), evidence.arguments);
    if (call != nullptr) add_model_details(events, *call);
    return pid;
}

bool has_device_error(const Evidence& evidence) {
    if (evidence.device) return true;
    return evidence.failed && returns_cuda_error(evidence.failed->kind) && evidence.failed->result != 0;
}

/// Runs in a child, because the query may never return.
void add_troubles_of_gpus(Evidence& evidence) {
    constexpr std::chrono::milliseconds kDeadline(2000);
    std::istringstream lines(run_child({"doctor", "--child", kCountersTrial}, kDeadline).out);
    for (std::string line; std::getline(lines, line);)
        evidence.notes.push_back(line);
}

/// A signal that ended the program may also have reached its children, which take a moment to exit.
std::vector<RecordedProcess> finished_processes(const EndedRun& run) {
    constexpr int kMostTries = 40;
    constexpr auto kNap = std::chrono::milliseconds(50);
    for (int tries = 0;; ++tries) {
        std::vector<RecordedProcess> processes = recorded_processes(run.folder, run.start_unix_ns);
        const bool may_change =
            run.has_status && WIFSIGNALED(run.status) && !run.is_own_request && tries < kMostTries;
        const auto is_inside = [](const RecordedProcess& p) { return p.is_running && p.has_open_calls; };
        if (!may_change || std::none_of(processes.begin(), processes.end(), is_inside)) return processes;
        std::this_thread::sleep_for(kNap);
    }
}

/// Returns the process that the report is about, or null if none recorded the end. Its fault on the device or
/// its hang becomes evidence.
const RecordedProcess* choose_process(const std::vector<RecordedProcess>& processes, const EndedRun& run,
                                      Evidence& evidence) {
    // A program may exit successfully after a kernel fault if it does not use the device again.
    if (const RecordedProcess* const faulted = first_fault(processes, run, evidence)) return faulted;
    const RecordedProcess* const hung = longest_hang(processes, run, evidence);
    if (hung != nullptr && evidence.hang->is_recorded)
        add_running_kernel(*hung, run, evidence);
    else
        note_asked_dumps(processes, run, evidence);
    if (hung != nullptr) return hung;
    if (const RecordedProcess* const ended = choose(processes, run)) return ended;
    return first_to_fail(processes, std::mem_fn(&RecordedProcess::has_dead_context));
}

/// Adds the ends of the other processes, and what all of them counted.
void add_processes(const std::vector<RecordedProcess>& processes, const EndedRun& run,
                   const RecordedProcess* chosen, Evidence& evidence) {
    std::vector<std::string> unexplained = unexplained_ends(processes, run, chosen);
    evidence.has_unexplained_end = !unexplained.empty();
    std::move(unexplained.begin(), unexplained.end(), std::back_inserter(evidence.notes));
    for (std::string& failed : failed_calls_of_others(processes, chosen))
        evidence.notes.push_back(std::move(failed));
    evidence.oom_kills = run.oom_kills;
    evidence.processes = processes.size();
    const Seen seen = run.seen.value_or(Seen{});
    evidence.loaded = seen.loaded;
    evidence.recording = seen.recording;
    evidence.unrecorded_error = seen.cuda_error;
    for (const RecordedProcess& process : processes) {
        evidence.runs += process.runs;
        evidence.calls += process.calls;
        evidence.uses_cuda |= process.uses_cuda;
    }
}

}  // namespace

Evidence gather(const EndedRun& run) {
    Evidence evidence;
    std::vector<RecordedProcess> processes = finished_processes(run);
    for (RecordedProcess& process : processes)
        if (run.is_own_request && process.pid == static_cast<std::uint32_t>(run.pid))
            process.is_running = false;
    const RecordedProcess* chosen = choose_process(processes, run, evidence);
    evidence.end = end_of(run, chosen);
    evidence.is_exit_known = run.has_status;
    add_processes(processes, run, chosen, evidence);
    const bool is_ours = run.has_status || run.stopped_by != 0;
    add_start(processes, run, evidence);
    // If the process did not record its variables, this process's apply, provided that it started the
    // program.
    evidence.variables = is_ours ? relevant_variables() : NamedTexts();
    add_variables(chosen, evidence);
    if (is_ours && !run.has_status)
        evidence.notes.push_back("the program was still running some seconds after " +
                                 signal_name(run.stopped_by));
    if (chosen != nullptr) add_calls(*chosen, run, evidence);
    OriginFacts origins(processes, run.torch_trace);
    const std::uint32_t finder = add_events(run, origins, evidence);
    if (is_about_finding(evidence)) {
        const RecordedProcess* const found =
            last_of(processes, [finder](const RecordedProcess& process) { return process.pid == finder; });
        add_finding_details(run, found, evidence);
        // No process is chosen for a program that exited successfully.
        if (chosen == nullptr) evidence.end = end_of(run, found);
        if (found != nullptr) chosen = found;
        evidence.is_captured = false;
        evidence.is_captured_op = false;
        if (chosen != nullptr && chosen->folder == evidence.end.folder)
            note_captured(*evidence.found, chosen->folder, evidence);
        add_variables(chosen, evidence);
    }
    origins.complete(chosen, evidence);
    if (evidence.finding) origins.complete(finder, *evidence.finding);
    evidence.has_dead_context = chosen != nullptr && chosen->has_dead_context;
    add_versions(chosen, run, evidence);
    evidence.library = AOTI_DBG_VERSION;
    if (has_device_error(evidence)) add_troubles_of_gpus(evidence);
    return evidence;
}

}  // namespace aoti_dbg
