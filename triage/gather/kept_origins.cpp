#include "triage/gather/kept_origins.hpp"

#include <vector>

#include "base/compiled_function.hpp"
#include "base/words.hpp"
#include "model/package_files.hpp"

namespace aoti_dbg {
namespace {

/// The line in the library's line table is not one of the kept source.
std::uint32_t line_of(std::uint32_t line, const std::string& source) {
    return source.empty() ? line : 0;
}

/// A launch inside an op has the origin of the op.
std::string kernel_of(const CrashCall& call) {
    return call.inside.empty() ? call.name : call.inside.substr(0, call.inside.rfind(" ("));
}

/// Returns an empty text if the file is absent or too large.
std::string text_of_file(const std::string& path) {
    std::string text;
    read_file(path, text);
    return text;
}

std::unique_ptr<Provenance> read(const KeptPackage& package, const TorchTrace* trace) {
    const std::vector<std::string> wrappers = package.wrappers();
    // With several sources, it is unknown which one a line belongs to.
    if (wrappers.size() > 1) return nullptr;
    const std::string wrapper = wrappers.empty() ? std::string() : text_of_file(wrappers.front());
    return std::make_unique<Provenance>(wrapper, text_of_file(package.folder + "/kernel_information.json"),
                                        trace);
}

}  // namespace

const SiteOrigin& KeptOrigins::of(const KeptPackages& packages, std::uint32_t model, const SiteFacts& site) {
    return find(packages, model,
                {site.kernel, site.symbol, line_of(site.line, site.source), site.source_nodes,
                 site.original_aten, site.python_stack});
}

const SiteOrigin& KeptOrigins::of(const KeptPackages& packages, const CrashCall& call) {
    return find(packages, call.model,
                {kernel_of(call), "", line_of(call.line, call.source), call.source_nodes, call.original_aten,
                 is_compiled_function(call.model_name) ? std::vector<std::string>() : call.python_stack});
}

const SiteOrigin& KeptOrigins::of(const KeptPackages& packages, const Finding& finding) {
    return find(
        packages, finding.model,
        {finding.kernel, finding.symbol, line_of(finding.line, finding.source), finding.source_nodes,
         finding.original_aten,
         is_compiled_function(finding.model_name) ? std::vector<std::string>() : finding.python_stack});
}

bool KeptOrigins::is_foreign_trace() const {
    bool is_any_read = false;
    for (const auto& [folder, model] : models_) {
        if (model && model->is_traced()) return false;
        is_any_read = is_any_read || model != nullptr;
    }
    return trace_ != nullptr && is_any_read;
}

const SiteOrigin& KeptOrigins::find(const KeptPackages& packages, std::uint32_t model,
                                    const NamedSite& site) {
    const std::vector<const KeptPackage*> candidates = packages.of(model);
    const bool is_known = candidates.size() == 1;
    const std::string folder = is_known ? candidates.front()->folder : std::string();
    std::string key = folder + "\n" + std::to_string(site.line) + "\n" + site.kernel + "\n" + site.symbol;
    // Without a line, only these differ between two sites.
    for (const auto* list : {&site.source_nodes, &site.aten, &site.python_stack})
        key += "\n" + joined(*list, ",");
    const auto known = found_.find(key);
    if (known != found_.end()) return known->second;
    const auto [entry, is_new] = models_.try_emplace(folder);
    if (is_new && is_known) entry->second = read(*candidates.front(), trace_);
    static const Provenance kUnknown({}, {}, nullptr);
    const Provenance& provenance = entry->second ? *entry->second : kUnknown;
    return found_.emplace(std::move(key), provenance.of(site)).first->second;
}

}  // namespace aoti_dbg
