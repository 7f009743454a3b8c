#include "shim/check/call_finding.hpp"

#include <utility>

#include "shim/calls/thread_state.hpp"
#include "shim/findings/measured_output.hpp"
#include "shim/runtime/clock.hpp"
#include "shim/tensors/call_tensors.hpp"

namespace aoti_dbg {

Finding finding_of(ThreadState& state, const OpenCall& call) {
    Finding finding;
    finding.sequence = call.seq;
    finding.time_ns = unix_nanoseconds();
    finding.thread = tensors_of(state).thread;
    finding.stream = call.stream;
    if (call.model != ring::kNoModel) finding.model = call.model;
    if (call.run != ring::kNoRun) finding.run = call.run;
    if (call.kind == ring::CallKind::run) {
        finding.kernel = kModelInputs;
        return finding;
    }
    if (call.number != ring::kNoCall) finding.call = call.number;
    return finding;
}

void add_tensor(const ArgumentFacts& argument, const TensorFacts* tensor, Finding& finding) {
    finding.tensor.label = argument.label;
    finding.tensor.original_fqn = argument.original_fqn;
    finding.tensor.parameter = argument.parameter;
    finding.tensor.role = argument.role;
    finding.tensor.unmeasured = "only the arguments of the call were checked";
    if (tensor == nullptr) return;
    finding.tensor.dtype = tensor->dtype;
    finding.tensor.device = tensor->device;
    finding.tensor.sizes_known = tensor->sizes_known;
    finding.tensor.sizes = tensor->sizes;
}

void report_mismatch(Finding finding, Mismatch mismatch) {
    finding.kind = Finding::Kind::argument;
    finding.check = std::move(mismatch.check);
    finding.expected = std::move(mismatch.expected);
    finding.found = std::move(mismatch.found);
    finding.advice = std::move(mismatch.advice);
    report_finding(std::move(finding));
}

}  // namespace aoti_dbg
