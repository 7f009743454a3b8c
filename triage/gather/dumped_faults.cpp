// See dumped_faults.hpp.
#include "triage/gather/dumped_faults.hpp"

#include <optional>
#include <set>
#include <string>

#include "triage/gather/device_fault.hpp"
#include "triage/gather/hang_facts.hpp"

namespace aoti_dbg {
namespace {

/// "process 4242 (rank 1)"
std::string short_name_of(const RecordedProcess& process) {
    return "process " + std::to_string(process.pid) +
           (process.facts.rank.empty() ? "" : " (rank " + process.facts.rank + ")");
}

/// Notes that the driver never reported this fault to the program.
void add_late_report(const RecordedProcess& process, Evidence& evidence) {
    const std::string hang = recorded_hang_text(process);
    if (!hang.empty())
        evidence.notes.push_back(
            "the driver did not report this fault. A dump requested for a hang shows it: " + hang);
}

}  // namespace

const RecordedProcess* first_fault(const std::vector<RecordedProcess>& processes, const EndedRun& run,
                                   Evidence& evidence) {
    const RecordedProcess* first = nullptr;
    const auto note = [&evidence](const RecordedProcess& process, const DeviceFault& fault) {
        evidence.notes.push_back(short_name_of(process) + " also had a fault, in " +
                                 (fault.kernel.empty() ? "an unknown kernel" : fault.kernel));
    };
    std::set<std::string> inspected;  // if processes share a folder, the last one counts
    for (auto process = processes.rbegin(); process != processes.rend(); ++process) {
        if (!inspected.insert(process->folder).second) continue;
        std::optional<DeviceFault> fault = device_fault(process->folder, run.start_unix_ns, evidence.notes);
        if (!fault) continue;
        // Several processes requested the same file. It belongs to the one whose context failed.
        if (first != nullptr && !fault->dump.empty() && fault->dump == evidence.device->dump) {
            if (process->has_dead_context && !first->has_dead_context) first = &*process;
            continue;
        }
        const bool is_first = first == nullptr || fault->written_unix_ns < evidence.device->written_unix_ns;
        if (!is_first) note(*process, *fault);
        if (!is_first) continue;
        if (first != nullptr) note(*first, *evidence.device);
        first = &*process;
        evidence.device = std::move(fault);
    }
    if (first != nullptr) add_late_report(*first, evidence);
    return first;
}

void add_running_kernel(const RecordedProcess& process, const EndedRun& run, Evidence& evidence) {
    const std::vector<CrashCall>& unended = evidence.hang->unended;
    const std::string expected = unended.empty() ? std::string() : unended.front().name;
    const std::size_t noted = evidence.notes.size();
    evidence.device = running_kernel(process.folder, run.start_unix_ns, expected, evidence.notes);
    if (evidence.device || evidence.notes.size() != noted) return;
    evidence.notes.emplace_back(
        "the driver was asked for the running kernel but wrote no dump that shows it");
}

void note_asked_dumps(const std::vector<RecordedProcess>& processes, const EndedRun& run,
                      Evidence& evidence) {
    for (const RecordedProcess& process : processes) {
        const std::optional<DeviceFault> ran =
            running_kernel(process.folder, run.start_unix_ns, {}, evidence.notes);
        if (ran)
            evidence.notes.push_back("a GPU core dump shows no exception; " +
                                     (ran->kernel.empty() ? "a kernel" : ran->kernel) +
                                     " was running when the driver wrote it");
    }
}

}  // namespace aoti_dbg
