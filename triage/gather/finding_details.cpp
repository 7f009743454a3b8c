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

/// True if it is about the inputs of a run, not about a call.
bool is_of_run(const Finding& finding) {
    return finding.call == kNoCallNumber && finding.kernel == kModelInputs;
}

/// Builds the call from the finding alone.
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

/// Returns the finding's record. Returns none if the record was overwritten or belongs to an enclosing call.
std::optional<ring::Call> recorded(const RecordedCalls& calls, const Finding& finding) {
    const std::optional<ring::Call> found = calls.of_sequence(finding.sequence);
    if (!found || found->record->seq != finding.sequence || found->record->run != finding.run)
        return std::nullopt;
    return found->record->call == finding.call ? found : std::nullopt;
}

/// The finding knows dtype and sizes even of an unmeasured tensor.
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

/// Replaces the argument of the same name, but keeps its facts from the source. A measurement from before the
/// call stays, unless this tensor is the wrong one.
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
    argument.is_from_tensor_map = known->is_from_tensor_map;
    if (argument.parameter.empty()) argument.parameter = known->parameter;
    *known = std::move(argument);
}

/// True if an argument's tensor is wrong, rather than how the call was made.
bool is_about_tensor(const Finding& finding) {
    return !finding.tensor.label.empty() && (finding.kind != Finding::Kind::argument || is_of_run(finding));
}

void add_tensors(const Finding& finding, std::vector<CrashArgument>& arguments) {
    for (const FindingTensor& input : finding.inputs)
        put(argument_of(input), false, arguments);
    for (const FindingTensor& output : finding.also)
        put(argument_of(output), true, arguments);
    if (is_about_tensor(finding)) put(argument_of(finding.tensor), true, arguments);
}

/// Adds what the ring recorded of the finding's call.
void add_recorded(const RecordedProcess& process, Evidence& evidence) {
    const Result<ring::Contents> read = ring::read_flight_ring(process.ring);
    if (!read.ok()) return;  // the process's calls already carry its notes
    const RecordedCalls calls(read.value());
    const std::optional<ring::Call> about = recorded(calls, *evidence.finding);
    if (!about) return;
    evidence.found = calls.details(*about);
    evidence.before = calls.before(about);
    add_call_facts(process, calls, *about, *evidence.found, evidence);
}

/// Adds measurements from the events, at the levels that measure.
void add_events_of(const EndedRun& run, const RecordedProcess& process, Evidence& evidence) {
    const RequestedCall requested{process.pid, evidence.found->sequence};
    RecordedEvents events = recorded_events(run.folder, run.start_unix_ns, requested, evidence.found->model);
    evidence.is_measured = !events.arguments.empty();
    if (evidence.is_measured) take_measured(std::move(events.arguments), evidence.arguments);
    add_model_details(events, *evidence.found);
}

}  // namespace

void add_finding_details(const EndedRun& run, const RecordedProcess* process, Evidence& evidence) {
    const Finding& finding = *evidence.finding;
    evidence.found = call_of(finding);
    evidence.before.clear();
    evidence.arguments.clear();
    if (process != nullptr) {
        add_recorded(*process, evidence);
        add_events_of(run, *process, evidence);
    }
    CrashCall& call = *evidence.found;
    if (call.line == 0) call.line = finding.line;
    if (call.source.empty() && call.line == finding.line) call.source = finding.source;
    if (call.source_nodes.empty()) call.source_nodes = finding.source_nodes;
    if (call.original_aten.empty()) call.original_aten = finding.original_aten;
    if (call.python_stack.empty()) call.python_stack = finding.python_stack;
    if (call.python_lines.empty()) call.python_lines = finding.python_lines;
    add_tensors(finding, evidence.arguments);
}

}  // namespace aoti_dbg
