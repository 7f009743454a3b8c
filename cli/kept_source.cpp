// See kept_source.hpp.
#include "cli/kept_source.hpp"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <optional>
#include <string_view>

#include <nlohmann/json.hpp>

#include "cli/folder_entries.hpp"
#include "cli/mapped_file.hpp"
#include "model/call_matcher.hpp"
#include "model/call_sites.hpp"
#include "model/last_writer.hpp"
#include "model/launched_tensors.hpp"

namespace aoti_dbg::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kEvidence = "evidence";
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

/// The sites of `names`, kNone where it is not certain; nothing where that of the last is not.
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

/// "triton_poi_fused_exp_0 (call 3)", of the same run.
std::string words_of(const LastWriter& writer, const std::vector<std::string>& names) {
    const std::string likely = writer.is_likely ? "likely " : "";
    switch (writer.kind) {
        case LastWriter::Kind::call: {
            CrashCall call;
            call.name = names[writer.call];
            call.call = static_cast<std::uint32_t>(writer.call);
            call.is_likely = writer.is_likely;
            return call_text(call);
        }
        case LastWriter::Kind::input:
            return likely + "the caller, as an input";
        case LastWriter::Kind::constant:
            return likely + "nobody in this run: constant " + writer.constant;
        case LastWriter::Kind::nobody:
            return "nobody since the run allocated it";
        case LastWriter::Kind::unknown:
            break;
    }
    return {};
}

/// Of the last of `names`, whose sites are `sites`.
std::vector<CrashArgument> arguments_of(const WrapperInfo& info, const std::vector<std::uint32_t>& sites,
                                        const std::vector<std::string>& names) {
    std::vector<CrashArgument> arguments;
    for (const Argument& argument : info.run.sites[sites.back()].arguments) {
        if (argument.kind == ArgumentKind::absent || argument.kind == ArgumentKind::unknown) continue;
        std::string what = argument.tensors.empty() ? argument.value : std::string();
        std::string label(argument.label());
        if (!argument.parameter.empty())
            what.insert(0, what.empty() ? "" : " = ").insert(0, argument.parameter);
        if (what == label) what.clear();
        CrashArgument& told = arguments.emplace_back();
        if (!argument.tensors.empty() && argument.access != Access::writes)
            told.written_by = words_of(last_writer(info, sites, label), names);
        told.label = std::move(label);
        told.what = std::move(what);
    }
    return arguments;
}

/// Anything may stand in a file.
bool is_version(const std::string& text) {
    return !text.empty() && text.size() < 16 && text.find_first_not_of("0123456789.") == std::string::npos;
}

/// The wrapper sources of the packages that were kept.
std::vector<std::string> kept_wrappers(const std::string& folder) {
    std::vector<std::string> paths;
    for (const std::string& package : kept_packages(folder))
        for (const fs::directory_entry& file : entries_of(fs::path(folder) / kEvidence / package))
            if (ends_with(file.path().string(), kWrapper)) paths.push_back(file.path().string());
    return paths;
}

std::string_view text_of(const MappedFile& file) {
    const auto bytes = file.bytes();
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

std::vector<std::string> kept_packages(const std::string& folder) {
    std::vector<std::string> names;
    for (const fs::directory_entry& package : entries_of(fs::path(folder) / kEvidence))
        names.push_back(package.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
}

std::vector<std::string> kept_torch_versions(const std::string& folder) {
    using Json = nlohmann::json;
    std::vector<std::string> versions;
    for (const std::string& package : kept_packages(folder)) {
        const Result<MappedFile> file =
            MappedFile::open((fs::path(folder) / kEvidence / package / "library.json").string());
        if (!file.ok()) continue;
        const Json library = Json::parse(text_of(file.value()), nullptr, false);
        if (!library.is_object()) continue;
        const auto torch = library.find("torch");
        if (torch == library.end() || !torch->is_string()) continue;
        std::string version = torch->get<std::string>();
        if (is_version(version)) versions.push_back(std::move(version));
    }
    std::sort(versions.begin(), versions.end());
    versions.erase(std::unique(versions.begin(), versions.end()), versions.end());
    return versions;
}

std::vector<CrashArgument> find_in_source(const std::string& folder, const std::vector<std::string>& names,
                                          CrashCall& call, const std::string& parameters) {
    if (names.empty()) return {};
    std::optional<WrapperInfo> found;
    std::vector<std::uint32_t> sites;
    for (const std::string& path : kept_wrappers(folder)) {
        WrapperInfo info = read_call_sites_of(path.substr(0, path.size() - 3) + "so");
        std::vector<std::uint32_t> candidate = sites_of(info, names);
        if (candidate.empty()) continue;
        if (found) return {};
        found = std::move(info);
        sites = std::move(candidate);
    }
    if (!found) return {};
    const CallSite& site = found->run.sites[sites.back()];
    call.line = site.line;
    call.source_nodes = site.source_nodes;
    call.original_aten = site.original_aten;
    std::vector<CrashArgument> arguments = arguments_of(*found, sites, names);
    for (const TensorMemory& memory : launched_tensors(*found, sites.back(), parameters)) {
        const auto is_it = [&memory](const CrashArgument& argument) {
            return argument.what == memory.parameter && argument.label == memory.label;
        };
        const auto argument = std::find_if(arguments.begin(), arguments.end(), is_it);
        if (argument == arguments.end()) continue;
        argument->begin = memory.begin;
        argument->bytes = memory.bytes;
    }
    return arguments;
}

void find_kernel_line_of(const std::string& folder, DeviceFault& fault) {
    if (fault.kernel.empty() || fault.line == 0) return;
    std::optional<KernelLine> found;
    for (const std::string& path : kept_wrappers(folder)) {
        const Result<MappedFile> file = MappedFile::open(path);
        if (!file.ok()) continue;
        std::optional<KernelLine> line = find_kernel_line(text_of(file.value()), fault.kernel, fault.line);
        if (line && found && line->text != found->text) return;
        if (line) found = std::move(line);
    }
    if (!found) return;
    fault.source = found->text;
    fault.parameter = found->parameter;
    fault.is_write = found->is_write;
}

std::vector<KernelAssertions> kept_assertions(const std::string& folder) {
    std::vector<KernelAssertions> all;
    for (const std::string& path : kept_wrappers(folder)) {
        const Result<MappedFile> file = MappedFile::open(path);
        if (!file.ok()) continue;
        std::vector<KernelAssertions> kernels = find_assertions(text_of(file.value()));
        std::move(kernels.begin(), kernels.end(), std::back_inserter(all));
    }
    return all;
}

}  // namespace aoti_dbg::cli
