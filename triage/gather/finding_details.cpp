// See finding_details.hpp.
#include "triage/gather/finding_details.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/words.hpp"
#include "triage/gather/call_facts.hpp"
#include "triage/gather/recorded_calls.hpp"

namespace aoti_dbg {
namespace {

/// Whether it is about what the run was given, and not about a call of it.
bool is_of_run(const Finding& finding) {
    return finding.call == kNoCallNumber && finding.kernel == kModelInputs;
}

/// By what the finding says itself.
CrashCall call_of(const Finding& finding) {
    CrashCall call;
    call.name = finding.kernel;
    if (is_of_run(finding)) call.kind = ring::CallKind::run;
    call.sequence = finding.sequence;
    call.run = finding.run;
    call.call = finding.call;
    call.model = finding.model;
    call.thread = finding.thread;
    call.stream = finding.stream;
    return call;
}

/// The record of it; none where another one has taken its place, or it is another call that lies around it.
std::optional<ring::Call> recorded(const RecordedCalls& calls, const Finding& finding) {
    const std::optional<ring::Call> found = calls.of_sequence(finding.sequence);
    if (!found || found->record->seq != finding.sequence || found->record->run != finding.run)
        return std::nullopt;
    return found->record->call == finding.call ? found : std::nullopt;
}

/// Of what was not measured the finding knows dtype and sizes all the same.
CrashArgument argument_of(const FindingTensor& tensor) {
    CrashArgument argument;
    argument.label = tensor.label;
    argument.parameter = tensor.parameter;
    argument.value = tensor.scalar;
    argument.what = tensor.scalar;
    if (tensor.dtype.empty()) return argument;
    argument.dtype = tensor.dtype;
    argument.has_sizes = tensor.sizes_known;
    for (std::size_t i = 0; tensor.sizes_known && i < tensor.sizes.size(); ++i)
        argument.sizes.push_back(std::to_string(tensor.sizes[i]));
    const std::string sizes = argument.has_sizes ? " [" + joined(argument.sizes, ", ") + "]" : "";
    const std::string values = tensor.unmeasured.empty() ? ", " + measured_text(tensor) : "";
    argument.what = tensor.dtype + sizes + values;
    return argument;
}

bool is_measured(const CrashArgument& argument) {
    return !argument.dtype.empty() && argument.what.rfind(argument.dtype + " ", 0) == 0;
}

/// In the place of the one of that name, which keeps what the source says of it. What was measured before the
/// call stays, unless it is the tensor that is wrong after it.
void put(CrashArgument argument, bool is_wrong, std::vector<CrashArgument>& arguments) {
    const auto known = std::find_if(arguments.begin(), arguments.end(), [&](const CrashArgument& other) {
        return other.label == argument.label;
    });
    if (known == arguments.end()) {
        arguments.push_back(std::move(argument));
        return;
    }
    if (argument.dtype.empty() && known->value.empty()) known->value = argument.value;
    if (argument.dtype.empty() || (is_measured(*known) && !is_wrong)) return;
    argument.written_by = known->written_by;
    argument.begin = known->begin;
    argument.bytes = known->bytes;
    if (argument.parameter.empty()) argument.parameter = known->parameter;
    *known = std::move(argument);
}

/// Where an argument of the call is what is wrong, and not how it was called.
bool is_about_tensor(const Finding& finding) {
    return !finding.tensor.label.empty() && (finding.kind != Finding::Kind::argument || is_of_run(finding));
}

void add_tensors(const Finding& finding, std::vector<CrashArgument>& arguments) {
    for (const FindingTensor& input : finding.inputs)
        put(argument_of(input), false, arguments);
    for (const FindingTensor& output : finding.also)
        put(argument_of(output), true, arguments);
    if (is_about_tensor(finding)) put(argument_of(finding.tensor), true, arguments);
    for (CrashArgument& argument : arguments)
        argument.is_suspect = argument.label == finding.tensor.label;
}

/// What its ring tells of the finding's call.
void add_recorded(const RecordedProcess& process, CrashReport& report) {
    const Result<ring::Contents> read = ring::read_flight_ring(process.ring);
    if (!read.ok()) return;  // its notes are told with the calls of the process
    const RecordedCalls calls(read.value());
    const std::optional<ring::Call> about = recorded(calls, *report.finding);
    if (!about) return;
    report.found = calls.told(*about);
    report.before = calls.before(about);
    add_call_facts(process, calls, *about, *report.found, report);
}

/// At the levels that measure.
void add_events_of(const EndedRun& run, const RecordedProcess& process, CrashReport& report) {
    const RequestedCall wanted{process.pid, report.found->sequence};
    RecordedEvents events = recorded_events(run.folder, run.start_unix_ns, wanted, report.found->model);
    if (!events.arguments.empty()) take_measured(std::move(events.arguments), report.arguments);
    add_model_details(events, *report.found);
}

}  // namespace

void add_finding_details(const EndedRun& run, const RecordedProcess* process, CrashReport& report) {
    const Finding& finding = *report.finding;
    report.found = call_of(finding);
    report.before.clear();
    report.arguments.clear();
    if (process != nullptr) {
        add_recorded(*process, report);
        add_events_of(run, *process, report);
    }
    CrashCall& call = *report.found;
    if (call.line == 0) call.line = finding.line;
    if (call.source_nodes.empty()) call.source_nodes = finding.source_nodes;
    if (call.original_aten.empty()) call.original_aten = finding.original_aten;
    add_tensors(finding, report.arguments);
}

}  // namespace aoti_dbg
