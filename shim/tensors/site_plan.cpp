#include "shim/tensors/site_plan.hpp"

#include <algorithm>
#include <cctype>
#include <map>
#include <mutex>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "model/package_origins.hpp"
#include "model/python_stack.hpp"
#include "serializer/flight_ring_format.hpp"
#include "shim/runtime/names.hpp"
#include "shim/runtime/process.hpp"
#include "shim/runtime/shim_table.hpp"
#include "shim/tensors/fixed_layouts.hpp"

namespace aoti_dbg {
namespace {

const char* kind_text(SiteKind kind) {
    switch (kind) {
        case SiteKind::op:
            return "op";
        case SiteKind::triton:
        case SiteKind::user_triton:
        case SiteKind::device_kernel:
            return "triton";
        case SiteKind::cpp:
            return "cpp_kernel";
        case SiteKind::proxy:
            return "proxy_op";
        case SiteKind::dispatcher:
            return "dispatcher_op";
        case SiteKind::copy:
            return "copy";
    }
    return "";
}

/// True if the scalar has a name of its own in the source, as PyTorch prints it. s77 has one; 1L and
/// cached_torch_dtype_float32 have none.
bool is_computed(const Argument& written) {
    const std::string_view text = written.text;
    if (written.kind != ArgumentKind::scalar || text.empty()) return false;
    const auto first = static_cast<unsigned char>(text.front());
    return (isalpha(first) != 0 || first == '_') && text.substr(0, 7) != "cached_" && text != "true" &&
           text != "false";
}

/// True if the kernel or op writes only arguments that declare it, and memory that it allocates itself. A
/// custom op may write memory that it kept from an earlier call, and a user's kernel may name its parameters
/// in any way.
bool writes_declared_only(const CallSite& site, const ShimSignature* shim) {
    if (site.kind == SiteKind::triton) {
        return std::all_of(site.arguments.begin(), site.arguments.end(), [](const Argument& argument) {
            if (argument.tensors.empty() || argument.role == Role::writes || argument.role == Role::updates)
                return true;
            const std::string_view name = argument.parameter;
            return argument.role == Role::reads && (name.starts_with("in_ptr") || name.starts_with("arg_"));
        });
    }
    if (site.kind != SiteKind::op) return false;
    const std::string_view name = site.name;
    return (shim != nullptr && name.find("c10d") == std::string_view::npos) ||
           name.starts_with("extern_kernels.") || name.starts_with("torch.ops.aten.") ||
           name.starts_with("aten.");
}

class Planner {
  public:
    Planner(const WrapperInfo& info, TorchRelease release)
        : release_(release), shared_(info.run.shared_memory), origins_(info), layouts_(info) {
        for (const std::string& input : info.inputs)
            known_.insert(input);
        for (const ConstantInfo& constant : info.constants) {
            known_.insert(constant.name);
            constants_.emplace(constant.name, constant.original_fqn);
        }
        for (const Allocation& allocation : info.run.allocations) {
            known_.insert(allocation.name);
            unwritten_.insert(allocation.name);
        }
        for (const SharedMemory& shared : info.run.shared_memory)
            known_.insert(shared.name);
    }

    void plan(const CallSite& site, std::uint32_t number, SitePlan& plan) {
        plan.site = &site;
        const ShimSignature* shim = site.kind == SiteKind::op ? find_shim(site.function) : nullptr;
        plan.facts.kernel = shim != nullptr ? std::string(shim->printed_by(release_)) : site.name;
        if (site.function != plan.facts.kernel) plan.facts.symbol = site.function;
        plan.facts.kind = kind_text(site.kind);
        plan.facts.site = number;
        plan.facts.line = site.line;
        plan.facts.source_nodes = site.source_nodes;
        plan.facts.original_aten = site.original_aten;
        plan.facts.python_stack = site.python_stack;
        plan.facts.python_lines = python_lines(site, plan.facts);
        plan.writes_declared_only = writes_declared_only(site, shim);
        plan.by_position.resize(site.arguments.size());
        share_memory(number);
        const bool aligned = shim != nullptr && shim->mutates.size() == site.arguments.size();
        for (std::size_t i = 0; i < site.arguments.size(); ++i) {
            const Argument& written = site.arguments[i];
            Role role = written.role;
            if (aligned && shim->args[i] == 'r') role = Role::makes;
            if (aligned && shim->mutates[i] == 'm' && role == Role::reads) role = Role::updates;
            const std::string_view header_name = aligned ? shim->name_of(i) : std::string_view();
            const std::string parameter(written.parameter.empty() ? header_name : written.parameter);
            if (written.tensors.empty()) {
                // The label stays empty where the frame reader supplies a name.
                const bool is_op = site.kind == SiteKind::op || site.kind == SiteKind::proxy;
                const bool is_named = !is_op || (site.kind == SiteKind::op && is_computed(written));
                add(plan, i, is_named ? std::string(written.label()) : parameter, role, written, parameter);
            }
            for (const TensorName& tensor : written.tensors) {
                // A name that was never allocated or passed before is created by a custom op.
                const bool is_new = known_.insert(tensor.name).second;
                const bool is_made = is_new && site.kind == SiteKind::proxy;
                const Role known = is_fresh(site, written, tensor) ? Role::writes : role;
                add(plan, i, tensor.name, is_made ? Role::makes : known, written, parameter);
                plan.arguments.back().is_unwritten = is_unwritten(site, tensor);
                plan.arguments.back().layout = layouts_.number_of(tensor);
            }
        }
        layouts_.note_call(plan, shim);
        // After all of them, because none is written before the call.
        for (const PlannedArgument& argument : plan.arguments) {
            if (argument.only_reads()) continue;
            for (const TensorName& tensor : argument.written->tensors) {
                written_.insert(memory_of(tensor.name));
                unwritten_.erase(memory_of(tensor.name));
            }
        }
    }

    /// Marks the constants that no site writes, and layouts that may change. Call it after all sites are
    /// planned.
    void mark_fixed(SitePlan& plan) const {
        for (PlannedArgument& argument : plan.arguments) {
            argument.is_fixed = argument.is_constant && !written_.contains(argument.label);
            if (!layouts_.stays(argument.label)) argument.layout = kNone;
        }
    }

  private:
    /// What the wrapper says takes precedence, as in a report (model/provenance).
    [[nodiscard]] std::vector<std::string> python_lines(const CallSite& site, const SiteFacts& facts) const {
        std::vector<std::string> lines = python_lines_of(site.python_stack);
        const KernelOrigin* const origin = origins_.of(site, facts.kernel, facts.symbol);
        if (lines.empty() && origin != nullptr) lines = own_lines_of(origin->stack_traces);
        return lines;
    }
    /// Takes the names that memory has from this site on.
    void share_memory(std::uint32_t number) {
        for (; next_shared_ < shared_.size() && shared_[next_shared_].from <= number; ++next_shared_) {
            memory_[shared_[next_shared_].name] = memory_of(shared_[next_shared_].of);
            layouts_.share(shared_[next_shared_]);
        }
    }
    [[nodiscard]] std::string_view memory_of(std::string_view name) const {
        const auto found = memory_.find(name);
        return found == memory_.end() ? name : found->second;
    }
    /// A generated kernel may get new memory as `in_out_ptr`, and write it before it reads it.
    [[nodiscard]] bool is_fresh(const CallSite& site, const Argument& written,
                                const TensorName& tensor) const {
        return written.role == Role::updates &&
               std::string_view(written.parameter).starts_with("in_out_ptr") && is_unwritten(site, tensor);
    }
    [[nodiscard]] bool is_unwritten(const CallSite& site, const TensorName& tensor) const {
        return site.region == kNone && unwritten_.contains(memory_of(tensor.name));
    }

    void add(SitePlan& plan, std::size_t position, std::string label, Role role, const Argument& written,
             const std::string& parameter) {
        PlannedArgument& argument = plan.arguments.emplace_back();
        argument.label = std::move(label);
        argument.parameter = parameter;
        argument.position = static_cast<std::uint32_t>(position);
        argument.role = role;
        argument.written = &written;
        argument.makes_anew = plan.site->region != kNone || plan.site->may_repeat;
        if (!written.tensors.empty() && !argument.label.empty()) {
            argument.name_number =
                numbers_.try_emplace(argument.label, static_cast<std::uint32_t>(numbers_.size()))
                    .first->second;
        }
        if (const auto constant = constants_.find(argument.label); constant != constants_.end()) {
            argument.is_constant = true;
            argument.makes_anew = false;
            argument.original_fqn = constant->second;
        }
        plan.by_position[position].push_back(&argument);
    }

    TorchRelease release_;
    const std::vector<SharedMemory>& shared_;
    PackageOrigins origins_;
    FixedLayouts layouts_;
    std::size_t next_shared_ = 0;
    std::unordered_map<std::string_view, std::string_view> memory_;  // under its original name
    std::unordered_set<std::string_view> unwritten_;  // allocated, and no site so far writes it
    std::unordered_set<std::string_view> written_;    // written by a site so far
    std::unordered_set<std::string> known_;
    std::unordered_map<std::string, std::string> constants_;
    std::unordered_map<std::string, std::uint32_t> numbers_;
};

}  // namespace

std::vector<SitePlan> make_site_plans(const WrapperInfo& info, TorchRelease release) {
    Planner planner(info, release);
    std::vector<SitePlan> plans(info.run.sites.size());
    for (std::uint32_t number = 0; number < info.run.sites.size(); ++number)
        planner.plan(info.run.sites[number], number, plans[number]);
    for (SitePlan& plan : plans)
        planner.mark_fixed(plan);
    return plans;
}

namespace {

/// Returns an argument that lives forever, because unwritten events refer to it. The number of distinct
/// arguments bounds the map.
const PlannedArgument& interned(const std::string& label, std::size_t position, Role role) {
    static auto* const known = new std::map<std::pair<std::string, std::size_t>, PlannedArgument>;
    const std::lock_guard lock(wiped_page().constants_mutex);
    const auto [place, is_new] = known->try_emplace({label, position});
    PlannedArgument& argument = place->second;
    if (is_new) {
        argument.label = label;
        argument.position = static_cast<std::uint32_t>(position);
        argument.role = role;
    }
    return argument;
}

}  // namespace

const PlannedArgument& unknown_argument(std::size_t position) {
    return interned("arg" + std::to_string(position), position, Role::unknown);
}

const PlannedArgument& unknown_argument(std::size_t position, std::size_t element) {
    return interned("arg" + std::to_string(position) + "[" + std::to_string(element) + "]", position,
                    Role::unknown);
}

const PlannedArgument& unknown_scalar(std::size_t position, std::string_view name) {
    return name.empty() ? unknown_argument(position) : interned(std::string(name), position, Role::unknown);
}

const PlannedArgument& unknown_end(bool is_input, std::size_t position) {
    return interned((is_input ? "input" : "output") + std::to_string(position), position,
                    is_input ? Role::reads : Role::makes);
}

const char* kind_text(ring::CallKind kind) {
    switch (kind) {
        case ring::CallKind::triton:
            return "triton";
        case ring::CallKind::extern_op:
            return "op";
        case ring::CallKind::proxy_op:
            return "proxy_op";
        case ring::CallKind::dispatcher:
            return "dispatcher_op";
        case ring::CallKind::cpp_kernel:
            return "cpp_kernel";
        case ring::CallKind::graph:
            return "graph";
        default:
            return "launch";
    }
}

const SiteFacts& unknown_site(const Name& name, ring::CallKind kind, CallLine place_in_source) {
    using Key = std::tuple<std::uint32_t, ring::CallKind, const ModelLines*, std::uint32_t>;
    static auto* const known = new std::map<Key, SiteFacts>;
    const std::lock_guard lock(wiped_page().constants_mutex);
    const auto [place, is_new] =
        known->try_emplace({name.id, kind, place_in_source.model, place_in_source.line});
    if (is_new) {
        place->second.kernel = name.printed;
        place->second.kind = kind_text(kind);
        place->second.line = place_in_source.line;
        if (place_in_source.model != nullptr) place->second.source = place_in_source.model->function.file;
    }
    return place->second;
}

}  // namespace aoti_dbg
