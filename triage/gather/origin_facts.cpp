#include "triage/gather/origin_facts.hpp"

#include "base/compiled_function.hpp"
#include "triage/gather/call_facts.hpp"

namespace aoti_dbg {
namespace {

/// Adds what both structs have in common. The recorded stack of a compiled function stays, because it says
/// who called the function.
template <typename Described>
void add(const SiteOrigin& origin, Described& to) {
    if (to.source_nodes.empty()) to.source_nodes = origin.pre_grad_nodes;
    if (to.original_aten.empty()) to.original_aten = origin.aten;
    if (to.python_stack.empty() && !is_compiled_function(to.model_name))
        to.python_stack = origin.python_stack;
    // A finding may have the lines that its package had.
    if (!origin.python_lines.empty()) to.python_lines = origin.python_lines;
    to.pre_grad_nodes = origin.pre_grad_nodes;
    to.post_grad_nodes = origin.post_grad_nodes;
    if (origin.from != SiteOrigin::From::wrapper) to.origin = word_of(origin.from);
}

/// Without a kernel, there is no origin.
bool is_of_kernel(const CrashCall& call) {
    return call.kind != ring::CallKind::run && call.model != ~0U;
}

}  // namespace

void add_origin(const SiteOrigin& origin, CrashCall& call) {
    add(origin, call);
}

void add_origin(const SiteOrigin& origin, Finding& finding) {
    add(origin, finding);
}

const KeptPackages& OriginFacts::packages_of_process(const RecordedProcess& process) {
    const auto known = packages_.find(process.pid);
    if (known != packages_.end()) return known->second;
    return packages_.emplace(process.pid, packages_of(process)).first->second;
}

void OriginFacts::complete(std::uint32_t pid, Finding& finding) {
    const RecordedProcess* const process =
        last_of(processes_, [pid](const RecordedProcess& one) { return one.pid == pid; });
    if (process == nullptr || finding.model == ~0U || finding.kernel == kModelInputs) return;
    add_origin(origins_.of(packages_of_process(*process), finding), finding);
}

void OriginFacts::complete(const RecordedProcess* process, Evidence& evidence) {
    if (process == nullptr) return;
    const KeptPackages& packages = packages_of_process(*process);
    const auto complete_call = [&](std::optional<CrashCall>& call) {
        if (call && is_of_kernel(*call)) add_origin(origins_.of(packages, *call), *call);
    };
    complete_call(evidence.failed);
    complete_call(evidence.faulted);
    complete_call(evidence.found);
    complete_call(evidence.last);
    for (CrashCall& call : evidence.in_flight)
        if (is_of_kernel(call)) add_origin(origins_.of(packages, call), call);
    if (origins_.is_foreign_trace())
        evidence.notes.emplace_back("the --torch-trace logs have no compilation of this model");
}

}  // namespace aoti_dbg
