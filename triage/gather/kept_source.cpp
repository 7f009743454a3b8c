// See kept_source.hpp.
#include "triage/gather/kept_source.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <string_view>

#include "base/mapped_file.hpp"
#include "base/words.hpp"
#include "model/call_matcher.hpp"
#include "model/call_sites.hpp"
#include "model/compiled_wrapper.hpp"
#include "model/package_files.hpp"

namespace aoti_dbg {
namespace {

constexpr std::string_view kDispatcher = "aoti_torch_call_dispatcher:";

/// Returns "sort_stable" for "aoti_torch_cpu_sort_stable_v2", or an empty text if it is not a device op.
std::string_view op_of(std::string_view function) {
    for (const std::string_view prefix :
         {"aoti_torch_cpu_", "aoti_torch_cuda_", "aoti_torch_xpu_", "aoti_torch_aten_"}) {
        if (function.substr(0, prefix.size()) != prefix) continue;
        function.remove_prefix(prefix.size());
        const std::size_t version = function.rfind("_v");
        const bool has_version =
            version != std::string_view::npos && version + 2 < function.size() &&
            function.find_first_not_of("0123456789", version + 2) == std::string_view::npos;
        return has_version ? function.substr(0, version) : function;
    }
    return {};
}

/// Returns the names that the flight ring may use for the site.
std::vector<std::string> recorded_names(const CallSite& site) {
    std::vector<std::string> names = {site.name, site.function};
    if (const std::string_view op = op_of(site.function); !op.empty())
        names.push_back("at::_ops::" + std::string(op) + "::call");
    if (std::string_view(site.key).substr(0, kDispatcher.size()) == kDispatcher) {
        std::string name = site.key.substr(kDispatcher.size());
        if (!name.empty() && name.back() == '.') name.pop_back();
        names.push_back(name);
    }
    return names;
}

/// Returns the sites of `names`, kNone where uncertain. Returns nothing if the last one is uncertain.
std::vector<std::uint32_t> sites_of(const WrapperInfo& info, const std::vector<std::string>& names) {
    const CallPlan plan(info.run);
    std::map<std::string, std::uint32_t, std::less<>> ids;
    for (const CallSite& site : info.run.sites)
        for (const std::string& name : recorded_names(site))
            ids.emplace(name, plan.id_of(site.key));
    CallMatcher matcher(plan);
    matcher.begin_run();
    std::vector<std::uint32_t> sites;
    for (const std::string& name : names) {
        const auto id = ids.find(name);
        if (id == ids.end() || id->second == kNone) return {};
        const CallMatcher::Match match = matcher.match(id->second);
        sites.push_back(match.is_certain ? match.site : kNone);
    }
    if (matcher.take_lost() || sites.back() >= info.run.sites.size()) return {};
    return sites;
}

/// `path` is a wrapper source. What the door of torch.compile found in a Python wrapper is beside it.
WrapperInfo sites_in(const std::string& path) {
    if (!path.ends_with(".py")) return read_call_sites_of(path.substr(0, path.size() - 3) + "so");
    std::string description;
    if (!read_file(path.substr(0, path.rfind('/')) + "/sites.json", description)) return {};
    std::optional<CompiledWrapper> wrapper = read_compiled_wrapper(description);
    return wrapper ? std::move(wrapper->info) : WrapperInfo();
}

/// A report may look up several calls, so the same note may come twice.
void add_once(const std::string& note, std::vector<std::string>& notes) {
    if (std::find(notes.begin(), notes.end(), note) == notes.end()) notes.push_back(note);
}

void add_package_details(const KeptPackage& package, CrashCall& call) {
    call.package = package.name;
    const KeptPackage::Model* const model = package.find(call.model);
    call.path = model != nullptr ? model->library : package.library;
    if (call.line != 0 && model != nullptr) call.source = model->source;
}

/// Explains why the source is not shown; `found` are the packages that match the calls.
std::string ambiguity_text(const std::vector<const KeptPackage*>& found) {
    return counted(found.size(), "package") + " match these calls (" + joined(names_of(found), ", ") +
           "), so the source is not shown";
}

std::string not_kept_text(const CrashCall& call) {
    return "the package of model " + std::to_string(call.model) + " was not kept, so its source is not shown";
}

}  // namespace

std::optional<FoundSource> find_source(const KeptPackages& packages, const std::vector<std::string>& names,
                                       CrashCall& call, std::vector<std::string>& notes) {
    const std::vector<const KeptPackage*> candidates = packages.of(call.model);
    if (packages.knows_models() && call.model != ~0U && candidates.empty())
        add_once(not_kept_text(call), notes);
    if (packages.knows_models() && candidates.size() == 1) add_package_details(*candidates.front(), call);
    if (names.empty()) return std::nullopt;
    std::optional<FoundSource> source;
    std::vector<const KeptPackage*> found;
    for (const KeptPackage* package : candidates) {
        for (const std::string& path : package->wrappers()) {
            WrapperInfo info = sites_in(path);
            std::vector<std::uint32_t> sites = sites_of(info, names);
            if (sites.empty()) continue;
            found.push_back(package);
            source = FoundSource{std::move(info), std::move(sites)};
        }
    }
    if (found.size() > 1) add_once(ambiguity_text(found), notes);
    if (found.size() != 1) return std::nullopt;
    add_package_details(*found.front(), call);
    const CallSite& site = source->info.run.sites[source->sites.back()];
    call.line = site.line;
    call.source.clear();
    call.source_nodes = site.source_nodes;
    call.original_aten = site.original_aten;
    call.python_stack = site.python_stack;
    return source;
}

void find_kernel_line_of(const std::vector<const KeptPackage*>& packages, DeviceFault& fault,
                         std::vector<std::string>& notes) {
    if (fault.kernel.empty() || fault.line == 0) return;
    std::optional<KernelLine> found;
    for (const KeptPackage* package : packages) {
        for (const std::string& path : package->wrappers()) {
            const Result<MappedFile> file = MappedFile::open(path);
            if (!file.ok()) continue;
            std::optional<KernelLine> line = find_kernel_line(file.value().text(), fault.kernel, fault.line);
            if (line && found && line->text != found->text) {
                notes.push_back(
                    "several packages have different kernels of this name, so the source line is not "
                    "shown");
                return;
            }
            if (line) found = std::move(line);
        }
    }
    if (!found) return;
    fault.source = found->text;
    fault.parameter = found->parameter;
    fault.is_write = found->is_write;
}

std::vector<KernelAssertions> assertions_in(const KeptPackage& package) {
    std::vector<KernelAssertions> all;
    for (const std::string& path : package.wrappers()) {
        const Result<MappedFile> file = MappedFile::open(path);
        if (!file.ok()) continue;
        std::vector<KernelAssertions> kernels = find_assertions(file.value().text());
        std::move(kernels.begin(), kernels.end(), std::back_inserter(all));
    }
    return all;
}

}  // namespace aoti_dbg
