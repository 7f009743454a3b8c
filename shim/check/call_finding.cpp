#include "shim/check/call_finding.hpp"

#include <utility>

#include "shim/findings/measured_output.hpp"

namespace aoti_dbg {

void add_site(const SiteFacts& site, Finding& finding) {
    finding.kernel = site.kernel;
    finding.symbol = site.symbol;
    finding.site = site.site;
    finding.line = site.line;
    finding.source = site.source;
    finding.source_nodes = site.source_nodes;
    finding.original_aten = site.original_aten;
    finding.python_stack = site.python_stack;
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
