#include "cli/trace/call_origins.hpp"

#include "triage/gather/origin_facts.hpp"

namespace aoti_dbg::cli {

void CallOrigins::complete(std::uint32_t model, SiteFacts& site) {
    const SiteOrigin& origin = origins_.of(packages_, model, site);
    if (site.source_nodes.empty()) site.source_nodes = origin.source_nodes;
    if (site.source_nodes.empty()) site.source_nodes = origin.pre_grad_nodes;
    if (site.original_aten.empty()) site.original_aten = origin.aten;
    if (!origin.python_lines.empty()) site.python_stack = origin.python_lines;
}

void CallOrigins::complete(Finding& finding) {
    if (finding.model == ~0U || finding.kernel == kModelInputs) return;
    add_origin(origins_.of(packages_, finding), finding);
}

}  // namespace aoti_dbg::cli
