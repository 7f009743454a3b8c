// See triage.hpp. First the process is chosen, from what all rings say in short; then its ring is read again
// for the calls.
#include "cli/triage.hpp"

#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <iterator>
#include <sstream>
#include <thread>

#include "base/words.hpp"
#include "cli/awaited_child.hpp"
#include "cli/chosen_process.hpp"
#include "cli/device_fault.hpp"
#include "cli/doctor_child.hpp"
#include "cli/fault_suspects.hpp"
#include "cli/hang_facts.hpp"
#include "cli/kept_source.hpp"
#include "cli/memory_facts.hpp"
#include "cli/recorded_calls.hpp"
#include "cli/recorded_processes.hpp"
#include "cli/surroundings.hpp"

namespace aoti_dbg::cli {
namespace {

/// The one whose arguments are told; null where there is none.
CrashCall* told_call(CrashReport& report) {
    if (report.faulted) return &*report.faulted;
    if (!report.suspects.empty()) return nullptr;
    if (report.in_flight.size() == 1) return &report.in_flight.front();
    return report.in_flight.empty() && report.told_failure() != nullptr ? &*report.failed : nullptr;
}

/// Whether the driver was told to come back from a launch when its kernel has ended.
bool launches_wait(const CrashReport& report) {
    const auto says_so = [](const auto& variable) {
        return variable.first == "CUDA_LAUNCH_BLOCKING" && variable.second != "0";
    };
    return std::any_of(report.variables.begin(), report.variables.end(), says_so);
}

/// As CUDA's errors: an illegal address, a misaligned one, one of the wrong space.
bool is_fault_of_memory(const DeviceFault& fault) {
    return fault.error == 700 || fault.error == 716 || fault.error == 717;
}

/// Which argument the line of the fault reads or writes.
void find_suspect(const std::string& folder, CrashReport& report) {
    DeviceFault& fault = *report.device;
    find_kernel_line_of(folder, fault);
    if (fault.parameter.empty() || !is_fault_of_memory(fault)) return;
    for (CrashArgument& argument : report.arguments)
        argument.is_suspect = argument.what.substr(0, argument.what.find(' ')) == fault.parameter ||
                              argument.label == fault.parameter;
}

std::string launch_parameters(const DeviceFault& fault) {
    return fault.accessed ? fault.accessed->parameters : std::string();
}

void add_arguments(const RecordedProcess& process, const RecordedCalls& calls, const ring::Call& about,
                   CrashReport& report) {
    CrashCall& told = *told_call(report);
    const std::optional<ring::Call> op = calls.around(about);
    if (op) {
        CrashCall around = calls.told(*op);
        around.is_likely = told.is_likely;
        told.inside = call_text(around);
    }
    report.arguments = find_in_source(process.folder, calls.names_up_to(op ? *op : about), told,
                                      report.device && !op ? launch_parameters(*report.device) : "");
    if (report.device) find_suspect(process.folder, report);
}

/// Among the arguments, which are those of the launch if it was that one.
void place_fault(CrashReport& report) {
    DeviceFault& fault = *report.device;
    place_access(fault, report.arguments);
    if (!fault.accessed || !report.faulted) return;
    fault.accessed->is_likely |= report.faulted->is_likely && !fault.accessed->label.empty();
}

bool has_lost_context(const ring::Record& record) {
    return ring::returns_cuda_error(record.kind) && ends_context(record.result);
}

bool has_findings(const EndedRun& run) {
    if (run.seen && run.seen->findings != 0) return true;
    return recorded_events(run.folder, run.start_unix_ns, std::nullopt, ~0U).finding_count != 0;
}

/// Whether the thread that the signal came to, which has made no calls, may have worked for one: an op's own
/// threads do, and those of OpenMP. One of the driver's falls over a lost context, and one of ours aborts for
/// a finding.
bool may_be_worker(const EndedRun& run, const CrashReport& report, bool has_lost_context) {
    const CrashEnd& end = report.end;
    return end.is_foreign_thread && is_fault(end.signal) && !has_lost_context &&
           (end.signal != SIGABRT || !has_findings(run));
}

/// What its ring tells. An exit in good order is nobody's who was inside of a call meanwhile.
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
    // Whoever ends a process that hangs, or for a fault on a device, is no thread of the program's.
    const bool is_of_all =
        report.hang || report.device || (!in_flight.empty() && may_be_worker(run, report, is_last_error));
    const std::uint32_t thread = is_of_all ? 0 : report.end.thread;
    const auto others = std::stable_partition(
        in_flight.begin(), in_flight.end(),
        [&](const ring::Call& call) { return thread == 0 || call.thread->tid == thread; });
    for (auto call = in_flight.begin(); call != in_flight.end(); ++call)
        (call < others ? report.in_flight : report.also_in_flight).push_back(calls.told(*call));
    in_flight.erase(others, in_flight.end());
    // A signal may come of a failure in one thread while others run on.
    report.failed_survived = failed && !is_last_error && calls.any_run_after(*failed, report.end.signal != 0);
    // A program that nobody stopped went on beside what nobody waits for, and came to another end.
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
        about && !calls.may_be_replayed(*about) ? about : std::nullopt;  // else its time says nothing
    if (report.hang && !report.device) {
        const bool waits = !report.hang->unended.empty();
        about = calls.of_sequence(waits ? report.hang->unended.front().sequence
                                        : report.hang->calls.front().call.sequence);
        if (about && !RecordedCalls::is_call(*about->record)) about.reset();
        if (about) report.faulted = calls.told(*about);
        if (about) report.faulted->is_likely = waits && !report.hang->by_markers;
    }
    if (!about) about = find_suspects(process.folder, read.value(), calls, report);
    if (!about && report.suspects.empty() && in_flight.size() == 1) about = in_flight.front();
    if (!about && report.suspects.empty() && in_flight.empty() && report.told_failure() != nullptr)
        about = failed;
    if (!report.hang) {
        for (const StuckCall& open : open_calls(read.value(), 0))
            if (open.call.kind == ring::CallKind::wait)
                report.notes.push_back("thread " + std::to_string(open.call.thread) +
                                       " had not come back from " + open.call.name);
    }
    report.before = calls.before(about);
    if (report.failed && report.told_failure() == nullptr)
        report.notes.push_back(call_text(*report.failed) + " had failed before, and later runs ended well");
    if (about) add_arguments(process, calls, *about, report);
    if (report.device) place_fault(report);
    add_memory_facts(process, {launch, failed, last}, report);
}

/// What was measured says more of the values, and the source of who wrote them.
void take_measured(std::vector<CrashArgument> measured, std::vector<CrashArgument>& arguments) {
    for (CrashArgument& argument : measured) {
        const auto known = std::find_if(arguments.begin(), arguments.end(), [&](const CrashArgument& other) {
            return other.label == argument.label;
        });
        if (known == arguments.end()) continue;
        argument.written_by = known->written_by;
        argument.is_suspect |= known->is_suspect;
        argument.begin = known->begin;
        argument.bytes = known->bytes;
    }
    arguments = std::move(measured);
}

/// One of a run that failed or was under way, else the first.
std::optional<Finding> told_finding(const std::vector<Finding>& findings, const CrashReport& report) {
    if (findings.empty()) return std::nullopt;
    const CrashCall* const failed = report.told_failure();
    const auto is_of_end = [&](const Finding& finding) {
        const auto is_its = [&finding](const CrashCall& call) { return is_of_run_of(finding, call); };
        return (failed != nullptr && is_its(*failed)) ||
               std::any_of(report.in_flight.begin(), report.in_flight.end(), is_its);
    };
    const auto found = std::find_if(findings.begin(), findings.end(), is_of_end);
    return found == findings.end() ? findings.front() : *found;
}

void add_events(const EndedRun& run, Triage& triage) {
    CrashReport& report = triage.report;
    CrashCall* const call = told_call(report);
    std::optional<WantedCall> wanted;
    if (call != nullptr) wanted = {report.end.pid, call->sequence};
    RecordedEvents events =
        recorded_events(run.folder, run.start_unix_ns, wanted, call == nullptr ? ~0U : call->model);
    report.findings = events.finding_count;
    if (run.seen && run.seen->findings > report.findings) {
        report.notes.push_back(
            "processes counted " + counted(run.seen->findings, "finding") +
            " in all: the output folder could not be written, was removed, or is another one "
            "for some of them (AOTI_DBG_OUT)");
        report.findings = run.seen->findings;
    }
    report.finding = told_finding(events.findings, report);
    triage.findings = std::move(events.findings);
    if (!events.arguments.empty()) take_measured(std::move(events.arguments), report.arguments);
    if (call != nullptr) call->model_name = events.model_name;
}

void add_packages(const std::string& folder, CrashReport& report) {
    const std::vector<std::string> packages = kept_packages(folder);
    if (!packages.empty())
        report.environment.emplace_back(packages.size() == 1 ? "package" : "packages",
                                        joined(packages, ", "));
}

/// Where no Python says it: what the models' own libtorch did.
void add_torch(const std::string& folder, CrashReport& report) {
    const auto is_torch = [](const auto& named) { return named.first == "torch"; };
    if (std::any_of(report.environment.begin(), report.environment.end(), is_torch)) return;
    const std::vector<std::string> versions = kept_torch_versions(folder);
    if (!versions.empty())
        report.environment.emplace(report.environment.begin(), "torch", joined(versions, ", "));
}

bool has_device_error(const CrashReport& report) {
    if (report.device) return true;
    return report.failed && returns_cuda_error(report.failed->kind) && report.failed->result != 0;
}

/// By a child, as the question may never be answered.
void add_troubles_of_gpus(CrashReport& report) {
    constexpr std::chrono::milliseconds kDeadline(2000);
    std::istringstream lines(run_child({"doctor", "--child", kCountersTrial}, kDeadline).out);
    for (std::string line; std::getline(lines, line);)
        report.notes.push_back(line);
}

/// The driver had not been told of the fault, and would never have been.
void add_late_telling(const RecordedProcess& process, CrashReport& report) {
    const std::string hang = recorded_hang_text(process);
    if (!hang.empty()) report.notes.push_back("the driver did not notice it, and was asked: " + hang);
}

/// The driver was asked at the hang.
void add_running_kernel(const RecordedProcess& process, const EndedRun& run, CrashReport& report) {
    const std::vector<CrashCall>& unended = report.hang->unended;
    const std::string wanted = unended.empty() ? std::string() : unended.front().name;
    const std::size_t noted = report.notes.size();
    report.device = running_kernel(process.folder, run.start_unix_ns, wanted, report.notes);
    if (report.device || report.notes.size() != noted) return;
    report.notes.emplace_back(
        "the driver was asked what runs on the device, and has left nothing that says it");
}

/// Somebody has asked the driver by hand, or a fault has left no trace.
void note_asked_dumps(const std::vector<RecordedProcess>& processes, const EndedRun& run,
                      CrashReport& report) {
    for (const RecordedProcess& process : processes) {
        const std::optional<DeviceFault> ran =
            running_kernel(process.folder, run.start_unix_ns, {}, report.notes);
        if (ran)
            report.notes.push_back("a core dump of the GPU tells of no exception; " +
                                   (ran->kernel.empty() ? "a kernel" : ran->kernel) +
                                   " ran when it was made");
    }
}

bool is_worth_telling(const CrashReport& report) {
    if (report.end.signal != 0 || report.findings != 0 || report.device || report.hang) return true;
    if (report.unrecorded_error != 0) return true;
    return report.end.exit_status.value_or(0) != 0 &&
           (report.failed || !report.in_flight.empty() || report.shortage);
}

/// What ended the program by a signal may have met its children as well, who are there for a moment yet.
std::vector<RecordedProcess> settled_processes(const EndedRun& run) {
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

Triage look_at(const EndedRun& run) {
    Triage triage;
    CrashReport& report = triage.report;
    std::vector<RecordedProcess> processes = settled_processes(run);
    for (RecordedProcess& process : processes)
        if (run.asks_itself && process.pid == static_cast<std::uint32_t>(run.pid)) process.is_running = false;
    // A program may end well though a kernel has faulted: before it asks the device again, all seems well.
    const RecordedProcess* chosen = last_of(processes, [&](const RecordedProcess& process) {
        if (!report.device) report.device = device_fault(process.folder, run.start_unix_ns, report.notes);
        return report.device.has_value();
    });
    if (chosen != nullptr) add_late_telling(*chosen, report);
    if (chosen == nullptr) {
        chosen = longest_hang(processes, run, report);
        if (chosen != nullptr && report.hang->is_recorded)
            add_running_kernel(*chosen, run, report);
        else
            note_asked_dumps(processes, run, report);
    }
    if (chosen == nullptr) chosen = choose(processes, run);
    const auto has_dead_context = [](const RecordedProcess& process) { return process.has_dead_context; };
    if (chosen == nullptr) chosen = last_of(processes, has_dead_context);
    report.end = end_of(run, chosen);
    std::vector<std::string> unexplained = unexplained_ends(processes, run, chosen);
    const bool has_unexplained = !unexplained.empty() && report.end.exit_status.value_or(0) != 0;
    std::move(unexplained.begin(), unexplained.end(), std::back_inserter(report.notes));
    for (std::string& failed : failed_calls_of_others(processes, chosen))
        report.notes.push_back(std::move(failed));
    const bool is_ours = run.has_status || run.stopped_by != 0;
    if (is_ours) {
        report.command = run.command;
        report.variables = telling_variables();  // else they are not the program's
    }
    if (is_ours && !run.has_status)
        report.notes.push_back("it still ran some seconds after " + signal_name(run.stopped_by));
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
    add_events(run, triage);
    report.environment = known_versions(run.command.front());
    add_torch(chosen != nullptr ? chosen->folder : run.folder, report);
    if (chosen != nullptr) add_packages(chosen->folder, report);
    report.library = AOTI_DBG_VERSION;
    if (has_device_error(report)) add_troubles_of_gpus(report);
    conclude(report);
    const bool is_told_by_ring = !run.has_status && (report.failed || !report.in_flight.empty());
    const bool is_of_lost_context = chosen != nullptr && chosen->has_dead_context && report.failed;
    triage.is_worth_telling =
        is_worth_telling(report) || is_told_by_ring || is_of_lost_context || has_unexplained;
    return triage;
}

}  // namespace aoti_dbg::cli
