// See kept_source.hpp.
#include "cli/kept_source.hpp"

#include <filesystem>
#include <map>
#include <optional>
#include <string_view>

#include "cli/mapped_file.hpp"
#include "model/call_matcher.hpp"
#include "model/call_sites.hpp"
#include "model/kernel_source.hpp"

namespace aoti_dbg::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kWrapper = ".wrapper.cpp";
constexpr std::string_view kDispatcher = "aoti_torch_call_dispatcher:";

bool ends_with(std::string_view text, std::string_view ending) {
    return text.size() >= ending.size() && text.substr(text.size() - ending.size()) == ending;
}

/// "sort_stable" of "aoti_torch_cpu_sort_stable_v2"; empty for what is no op of a device.
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

/// As the flight ring may have it.
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

/// The site of the last of `names`, where it is certain.
std::optional<CallSite> last_site(const WrapperInfo& info, const std::vector<std::string>& names) {
    const CallPlan plan(info.run);
    std::map<std::string, std::uint32_t, std::less<>> ids;
    for (const CallSite& site : info.run.sites)
        for (const std::string& name : recorded_names(site))
            ids.emplace(name, plan.id_of(site.key));
    CallMatcher matcher(plan);
    matcher.begin_run();
    CallMatcher::Match match;
    for (const std::string& name : names) {
        const auto id = ids.find(name);
        if (id == ids.end() || id->second == kNone) return std::nullopt;
        match = matcher.match(id->second);
    }
    if (matcher.take_lost() || !match.is_certain || match.site >= info.run.sites.size()) return std::nullopt;
    return info.run.sites[match.site];
}

std::vector<CrashArgument> arguments_of(const CallSite& site) {
    std::vector<CrashArgument> arguments;
    for (const Argument& argument : site.arguments) {
        if (argument.kind == ArgumentKind::absent || argument.kind == ArgumentKind::unknown) continue;
        std::string what = argument.tensors.empty() ? argument.value : std::string();
        std::string label(argument.label());
        if (!argument.parameter.empty())
            what.insert(0, what.empty() ? "" : " = ").insert(0, argument.parameter);
        if (what == label) what.clear();
        arguments.push_back({std::move(label), std::move(what)});
    }
    return arguments;
}

/// The wrapper sources of the packages that were kept.
std::vector<std::string> kept_wrappers(const std::string& folder) {
    std::vector<std::string> paths;
    std::error_code failed;
    for (const fs::directory_entry& package : fs::directory_iterator(folder + "/evidence", failed)) {
        std::error_code unreadable;
        for (const fs::directory_entry& file : fs::directory_iterator(package.path(), unreadable))
            if (ends_with(file.path().string(), kWrapper)) paths.push_back(file.path().string());
    }
    return paths;
}

}  // namespace

std::vector<CrashArgument> find_in_source(const std::string& folder, const std::vector<std::string>& names,
                                          CrashCall& call) {
    if (names.empty()) return {};
    std::optional<CallSite> found;
    for (const std::string& path : kept_wrappers(folder)) {
        const std::string so_path = path.substr(0, path.size() - 3) + "so";
        const std::optional<CallSite> site = last_site(read_call_sites_of(so_path), names);
        if (site && found) return {};
        if (site) found = site;
    }
    if (!found) return {};
    call.line = found->line;
    call.source_nodes = found->source_nodes;
    call.original_aten = found->original_aten;
    return arguments_of(*found);
}

void find_kernel_line_of(const std::string& folder, DeviceFault& fault) {
    if (fault.kernel.empty() || fault.line == 0) return;
    std::optional<KernelLine> found;
    for (const std::string& path : kept_wrappers(folder)) {
        const Result<MappedFile> file = MappedFile::open(path);
        if (!file.ok()) continue;
        const auto bytes = file.value().bytes();
        const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
        std::optional<KernelLine> line = find_kernel_line(text, fault.kernel, fault.line);
        if (line && found && line->text != found->text) return;
        if (line) found = std::move(line);
    }
    if (!found) return;
    fault.source = found->text;
    fault.parameter = found->parameter;
    fault.is_write = found->is_write;
}

}  // namespace aoti_dbg::cli
