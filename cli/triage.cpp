// See triage.hpp. First the process is chosen, from what all rings say in short; then its ring is read again
// for the calls.
#include "cli/triage.hpp"

#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <functional>

#include "base/words.hpp"
#include "cli/device_fault.hpp"
#include "cli/hang_facts.hpp"
#include "cli/kept_source.hpp"
#include "cli/recorded_processes.hpp"
#include "cli/surroundings.hpp"

namespace aoti_dbg::cli {
namespace {

constexpr std::size_t kCallsBefore = 8;

bool has_failed(const ring::Record& record) {
    return record.kind != ring::CallKind::lifecycle && record.kind != ring::CallKind::wait &&
           (record.result != 0 || (record.flags & ring::kLeftByException) != 0);
}

/// Runs and what surrounds them hold calls; they are none, nor is who waits for the device.
bool is_call(const ring::Record& record) {
    return record.kind != ring::CallKind::run && record.kind != ring::CallKind::lifecycle &&
           record.kind != ring::CallKind::wait;
}

bool is_open_call(const ring::Record& record) {
    return is_open(record) && record.kind != ring::CallKind::wait;
}

/// The signal that an exit status beyond 128 stands for with shells; 0 where it is none that ends programs
/// for a fault.
int signal_of_status(int status) {
    for (const int signal : {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGKILL})
        if (status == 128 + signal) return signal;
    return 0;
}

/// The ring of one process, and which of its calls are told of.
class Calls {
  public:
    explicit Calls(const ring::Contents& contents)
        : contents_(contents), all_(ring::merged_calls(contents)) {}

    [[nodiscard]] std::vector<ring::Call> in_flight(bool main_thread_only) const {
        std::vector<ring::Call> innermost;
        for (const ring::Thread& thread : contents_.threads) {
            if (thread.ended || (main_thread_only && thread.tid != contents_.header.pid)) continue;
            const auto open = std::find_if(thread.records.rbegin(), thread.records.rend(), is_open_call);
            if (open != thread.records.rend()) innermost.push_back({&thread, &*open});
        }
        return innermost;
    }
    /// The first that a fault on the device made fail; else of the last run that failed the first call that
    /// did, else that run.
    [[nodiscard]] std::optional<ring::Call> failed() const {
        std::optional<ring::Call> last;
        for (const ring::Call& call : all_) {
            if (returns_cuda_error(call.record->kind) && ends_context(call.record->result)) return call;
            if (has_failed(*call.record)) last = call;
        }
        if (!last || last->record->run == ring::kNoRun) return last;
        for (const ring::Call& call : all_) {
            const bool is_of_run = call.record->run == last->record->run;
            if (is_of_run && is_call(*call.record) && has_failed(*call.record)) return call;
        }
        return last;
    }
    /// Whether no other thread had a launch under way meanwhile.
    [[nodiscard]] bool was_alone(const ring::Call& failed) const {
        return std::none_of(all_.begin(), all_.end(), [&](const ring::Call& other) {
            const ring::Record& record = *other.record;
            return other.thread != failed.thread && is_launch(record.kind) &&
                   record.begin_ticks <= failed.record->end_ticks &&
                   (is_open(record) || record.end_ticks >= failed.record->begin_ticks);
        });
    }
    [[nodiscard]] std::optional<ring::Call> last() const {
        const auto found = std::find_if(all_.rbegin(), all_.rend(),
                                        [](const ring::Call& call) { return is_call(*call.record); });
        return found == all_.rend() ? std::nullopt : std::optional(*found);
    }
    /// Those that had come back when `to` began, the latest first; of its own thread, or with none of all.
    [[nodiscard]] std::vector<CrashCall> before(const std::optional<ring::Call>& to) const {
        std::vector<CrashCall> calls;
        for (auto call = all_.rbegin(); call != all_.rend() && calls.size() < kCallsBefore; ++call) {
            if (to && (call->thread != to->thread || call->record->seq >= to->record->seq)) continue;
            if (is_call(*call->record) && !is_open(*call->record)) calls.push_back(told(*call));
        }
        return calls;
    }
    /// The names of the model's own calls of its run up to it; empty where the ring has lost the first.
    [[nodiscard]] std::vector<std::string> names_up_to(const ring::Call& to) const {
        std::vector<std::string> names;
        for (const ring::Record& record : to.thread->records) {
            const bool is_own = record.run == to.record->run && record.call != ring::kNoCall;
            if (!is_own || !is_call(record) || record.seq > to.record->seq) continue;
            if (record.call != names.size()) return {};
            names.emplace_back(contents_.name(record.name));
        }
        if (to.record->call == ring::kNoCall || names.size() != to.record->call + 1U) return {};
        return names;
    }
    /// The launch of a kernel that faulted, by the driver's name of it and its number among the launches of
    /// its context, where the dump has one; `is_certain` says whether it could have been no other.
    [[nodiscard]] std::optional<ring::Call> launch_of(const DeviceFault& fault, bool& is_certain) const {
        const auto is_nearer = [&fault](const ring::Call& a, const ring::Call& b) {
            return distance(a, fault) < distance(b, fault);
        };
        std::vector<ring::Call> launches;
        for (auto call = all_.rbegin(); call != all_.rend(); ++call)
            if (is_call(*call->record) && is_launch_of(*call, fault.kernel)) launches.push_back(*call);
        if (launches.empty()) return std::nullopt;
        // Of equals the last: where nobody counts, the program cannot have gone on for long.
        const ring::Call found = *std::min_element(launches.begin(), launches.end(), is_nearer);
        is_certain = launches.size() == 1 || (fault.launch != 0 && distance(found, fault) == 0);
        return found;
    }
    /// The call of that number, or, of one that waits, the call that it lies in.
    [[nodiscard]] std::optional<ring::Call> of_sequence(std::uint64_t sequence) const {
        for (const ring::Call& call : all_) {
            if (call.record->seq != sequence) continue;
            const std::uint64_t around = sequence - call.record->back;
            return is_call(*call.record) || around == sequence ? call : of_sequence(around);
        }
        return std::nullopt;
    }
    [[nodiscard]] bool any_run_after(const ring::Call& failed) const {
        return std::any_of(all_.begin(), all_.end(), [&](const ring::Call& call) {
            return call.record->kind == ring::CallKind::run && call.record->seq > failed.record->seq &&
                   !is_open(*call.record) && !has_failed(*call.record);
        });
    }
    [[nodiscard]] CrashCall told(const ring::Call& call) const { return recorded_call(contents_, call); }

  private:
    /// Models tell several kernels of one name apart by a number.
    [[nodiscard]] bool is_launch_of(const ring::Call& call, std::string_view kernel) const {
        std::string_view name = contents_.name(call.record->name);
        if (name == kernel) return !kernel.empty();
        if (kernel.empty() || name.size() <= kernel.size() + 1 || name.substr(0, kernel.size()) != kernel)
            return false;
        name.remove_prefix(kernel.size());
        return name.front() == '_' && name.find_first_not_of("0123456789", 1) == std::string_view::npos;
    }
    /// From the number of the launch at fault; 0 for that one. Our numbers may be too small, behind a graph.
    static std::uint64_t distance(const ring::Call& call, const DeviceFault& fault) {
        const std::uint64_t number = call.record->launch;
        const std::uint64_t at_fault = fault.launch != 0 ? fault.launch : fault.later_launch;
        if (number == 0 || at_fault == 0) return kNotComparable;
        if (number > at_fault) return kNotComparable + number - at_fault;
        return at_fault - number;
    }
    static constexpr std::uint64_t kNotComparable = std::uint64_t{1} << 62U;

    const ring::Contents& contents_;
    std::vector<ring::Call> all_;
};

const RecordedProcess* last_of(const std::vector<RecordedProcess>& processes,
                               const std::function<bool(const RecordedProcess&)>& is_wanted) {
    const auto found = std::find_if(processes.rbegin(), processes.rend(), is_wanted);
    return found == processes.rend() ? nullptr : &*found;
}

/// Whose end it is that the run's end tells of; null where nobody recorded anything of it.
const RecordedProcess* choose(const std::vector<RecordedProcess>& processes, const EndedRun& run) {
    const auto is_started = [&](const RecordedProcess& p) {
        return p.pid == static_cast<std::uint32_t>(run.pid);
    };
    const RecordedProcess* const started = last_of(processes, is_started);
    if (run.has_status && WIFSIGNALED(run.status)) return started;
    if (started != nullptr && started->died_inside()) return started;
    const auto died_inside = [](const RecordedProcess& p) { return p.died_inside(); };
    if (const RecordedProcess* const died = last_of(processes, died_inside)) return died;
    const auto has_failed = [](const RecordedProcess& p) { return p.has_failed_call; };
    if (const RecordedProcess* const failed = last_of(processes, has_failed)) return failed;
    const auto has_crashed = [](const RecordedProcess& p) { return !p.ended && !p.is_running; };
    const RecordedProcess* const crashed = last_of(processes, has_crashed);
    if (!run.has_status) return crashed;
    return signal_of_status(WEXITSTATUS(run.status)) != 0 && crashed != nullptr ? crashed : started;
}

CrashEnd end_of(const EndedRun& run, const RecordedProcess* process) {
    CrashEnd end;
    end.pid = process == nullptr ? static_cast<std::uint32_t>(run.pid) : process->pid;
    end.program = process == nullptr ? run.command.front() : process->program;
    end.is_descendant = end.pid != static_cast<std::uint32_t>(run.pid);
    if (!run.has_status) return end;
    if (WIFSIGNALED(run.status)) {
        end.signal = WTERMSIG(run.status);
        return end;
    }
    end.exit_status = WEXITSTATUS(run.status);
    const bool may_be_killed = process == nullptr || !process->ended;
    end.signal = may_be_killed ? signal_of_status(*end.exit_status) : 0;
    end.signal_is_guessed = end.signal != 0;
    return end;
}

/// The one whose arguments are told; null where there is none.
CrashCall* told_call(CrashReport& report) {
    if (report.faulted) return &*report.faulted;
    if (report.in_flight.size() == 1) return &report.in_flight.front();
    return report.in_flight.empty() && report.failed ? &*report.failed : nullptr;
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

/// What its ring tells. An exit in good order is nobody's who was inside of a call meanwhile.
void add_calls(const RecordedProcess& process, CrashReport& report) {
    const Result<ring::Contents> read = ring::read_flight_ring(process.ring);
    if (!read.ok()) {
        report.notes.push_back(read.status().message());
        return;
    }
    report.notes.insert(report.notes.end(), read.value().notes.begin(), read.value().notes.end());
    const Calls calls(read.value());
    const std::vector<ring::Call> in_flight = calls.in_flight(process.ended);
    for (const ring::Call& call : in_flight)
        report.in_flight.push_back(calls.told(call));
    const std::optional<ring::Call> failed = calls.failed();
    if (failed) report.failed = calls.told(*failed);
    report.failed_alone = failed && launches_wait(report) && calls.was_alone(*failed);
    const std::optional<ring::Call> last = calls.last();
    if (in_flight.empty() && last) report.last = calls.told(*last);
    std::optional<ring::Call> about;
    if (report.device) {
        bool is_certain = false;
        about = calls.launch_of(*report.device, is_certain);
        if (about) report.faulted = calls.told(*about);
        if (about) report.faulted->is_likely = !is_certain;
    }
    if (report.hang && !report.device) {
        const bool waits = !report.hang->unended.empty();
        about = calls.of_sequence(waits ? report.hang->unended.front().sequence
                                        : report.hang->calls.front().call.sequence);
        if (about && !is_call(*about->record)) about.reset();
        if (about) report.faulted = calls.told(*about);
        if (about) report.faulted->is_likely = waits;
    }
    if (!about && in_flight.size() == 1) about = in_flight.front();
    if (!about && in_flight.empty()) about = failed;
    if (!report.hang) {
        for (const StuckCall& open : open_calls(read.value(), 0))
            if (open.call.kind == ring::CallKind::wait)
                report.notes.push_back("thread " + std::to_string(open.call.thread) +
                                       " had not come back from " + open.call.name);
    }
    report.before = calls.before(about);
    if (failed && about && about->record == failed->record && calls.any_run_after(*failed))
        report.notes.emplace_back("runs after the one that failed ended well");
    if (!about) return;
    report.arguments = find_in_source(process.folder, calls.names_up_to(*about), *told_call(report));
    if (report.device) find_suspect(process.folder, report);
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
    }
    arguments = std::move(measured);
}

void add_events(const EndedRun& run, Triage& triage) {
    CrashReport& report = triage.report;
    CrashCall* const call = told_call(report);
    std::optional<WantedCall> wanted;
    if (call != nullptr) wanted = {report.end.pid, call->sequence};
    RecordedEvents events =
        recorded_events(run.folder, run.start_unix_ns, wanted, call == nullptr ? ~0U : call->model);
    report.findings = events.finding_count;
    if (!events.findings.empty()) report.finding = events.findings.front();
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

bool is_worth_telling(const CrashReport& report) {
    if (report.end.signal != 0 || report.findings != 0 || report.device || report.hang) return true;
    return report.end.exit_status.value_or(0) != 0 && (report.failed || !report.in_flight.empty());
}

}  // namespace

Triage look_at(const EndedRun& run) {
    Triage triage;
    CrashReport& report = triage.report;
    const std::vector<RecordedProcess> processes = recorded_processes(run.folder, run.start_unix_ns);
    const bool ended_well = run.has_status && WIFEXITED(run.status) && WEXITSTATUS(run.status) == 0;
    // A program may end well though a kernel has faulted: before it asks the device again, all seems well.
    const RecordedProcess* chosen = last_of(processes, [&](const RecordedProcess& process) {
        if (!report.device) report.device = device_fault(process.folder, run.start_unix_ns, report.notes);
        return report.device.has_value();
    });
    if (chosen == nullptr) chosen = longest_hang(processes, run, report);
    if (chosen == nullptr && !ended_well) chosen = choose(processes, run);
    const auto has_dead_context = [](const RecordedProcess& process) { return process.has_dead_context; };
    if (chosen == nullptr) chosen = last_of(processes, has_dead_context);
    report.end = end_of(run, chosen);
    const bool is_ours = run.has_status || run.stopped_by != 0;
    if (is_ours) {
        report.command = run.command;
        report.variables = telling_variables();  // else they are not the program's
    }
    if (is_ours && !run.has_status)
        report.notes.push_back("it still ran some seconds after " + signal_name(run.stopped_by));
    report.oom_kills = run.oom_kills;
    report.processes = processes.size();
    for (const RecordedProcess& process : processes) {
        report.runs += process.runs;
        report.calls += process.calls;
        report.uses_cuda |= process.uses_cuda;
    }
    if (chosen != nullptr) add_calls(*chosen, report);
    add_events(run, triage);
    report.environment = known_versions(run.command.front());
    if (chosen != nullptr) add_packages(chosen->folder, report);
    report.library = AOTI_DBG_VERSION;
    conclude(report);
    const bool is_told_by_ring = !run.has_status && (report.failed || !report.in_flight.empty());
    const bool has_lost_context = chosen != nullptr && chosen->has_dead_context && report.failed;
    triage.is_worth_telling = is_worth_telling(report) || is_told_by_ring || has_lost_context;
    return triage;
}

}  // namespace aoti_dbg::cli
