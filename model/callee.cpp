#include "model/callee.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace aoti_dbg {
namespace {

/// Returns aoti_torch_cpu_addmm_out for aoti_torch_cpu_addmm_out_v2.
std::string_view without_version(std::string_view function) {
    const std::size_t at = function.rfind("_v");
    if (at == std::string_view::npos || at + 2 >= function.size()) return function;
    for (const char c : function.substr(at + 2)) {
        if (c < '0' || c > '9') return function;
    }
    return function.substr(0, at);
}

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
    return std::find(words.begin(), words.end(), word) != words.end();
}

/// Returns whether Inductor uses the shim function as an op. shim/calls/model_binding applies the same rule.
bool is_op(std::string_view function) {
    if (is_one_of(function, {"aoti_torch__mm_plus_mm_out", "aoti_torch_scatter_out",
                             "aoti_torch_scatter_reduce_out", "aoti_torch_index_put_out"})) {
        return true;
    }
    for (const std::string_view device : {"cpu_", "cuda_", "xpu_", "mps_", "aten_", "mkldnn_"}) {
        if (!function.substr(11).starts_with(device)) continue;
        const std::string_view op = function.substr(11 + device.size());
        return op != "guard_set_index" && !op.starts_with("caching_allocator_");
    }
    return false;
}

}  // namespace

std::string proxy_key(std::uint32_t node) {
    return "aoti_torch_proxy_executor_call_function:" + std::to_string(node);
}

std::string dispatcher_key(std::string_view op, std::string_view overload) {
    std::string key = "aoti_torch_call_dispatcher:";
    key.append(op).append(".").append(overload);
    return key;
}

std::size_t number_value(const Token& token) {
    constexpr std::size_t kLargest = std::numeric_limits<std::uint32_t>::max();
    if (token.kind != Token::Kind::number || token.text.empty()) return kLargest;
    std::size_t value = 0;
    for (const char c : token.text) {
        if (c == 'L' || c == 'U' || c == 'l' || c == 'u') break;
        if (c < '0' || c > '9') return kLargest;
        value = std::min(value * 10 + static_cast<std::size_t>(c - '0'), kLargest);
    }
    return value;
}

std::size_t handle_index(const Statement& statement, std::size_t at) {
    return number_value(statement[at + 2]);
}

Callee find_callee(const Statement& statement, TokenRange range) {
    std::size_t at = range.first;
    if (statement[at].is_word("AOTI_TORCH_ERROR_CODE_CHECK")) at += 2;
    Callee callee;
    if (statement[at].is_word("kernels") && statement[at + 1].is('.')) {
        callee.is_member = true;
        at += 2;
    }
    if (at + 1 >= range.last || statement[at].kind != Token::Kind::word || !statement[at + 1].is('('))
        return callee;
    callee.name = statement[at].text;
    callee.open = at + 1;
    return callee;
}

std::optional<SiteKind> kind_by_name(const Callee& callee) {
    const std::string_view name = callee.name;
    if (name.starts_with("cpp_")) return SiteKind::cpp;
    if (callee.is_member) return SiteKind::device_kernel;
    if (name == "aoti_torch_proxy_executor_call_function") return SiteKind::proxy;
    if (name == "aoti_torch_call_dispatcher" || name == "torch_call_dispatcher") return SiteKind::dispatcher;
    if (!name.starts_with("aoti_torch_")) return std::nullopt;
    if (is_one_of(name, {"aoti_torch_copy_", "aoti_torch_zero_", "aoti_torch_tensor_copy_",
                         "aoti_torch_clone", "aoti_torch_clone_preserve_strides"})) {
        return SiteKind::copy;
    }
    return is_op(name) ? std::optional(SiteKind::op) : std::nullopt;
}

void apply_kernel(const TritonKernelInfo* kernel, Keeper& keeper, CallSite& site) {
    // The launcher's own arguments come last: device, stream, kernel table and folder of images.
    constexpr std::size_t kLauncherArguments = 4;
    const std::size_t own = kernel != nullptr
                                ? kernel->parameters.size()
                                : site.arguments.size() - std::min(site.arguments.size(), kLauncherArguments);
    if (site.arguments.size() > own) site.arguments.resize(own);
    for (std::size_t at = 0; at < site.arguments.size(); ++at) {
        Argument& argument = site.arguments[at];
        if (argument.kind == ArgumentKind::tensor) argument.role = Role::unknown;
        if (kernel == nullptr) continue;
        const TritonParameter& parameter = kernel->parameters[at];
        argument.parameter = keeper.keep(parameter.name);
        argument.type = keeper.keep(parameter.type);
        if (argument.kind == ArgumentKind::tensor) argument.role = parameter.role;
    }
}

void apply_prototype(const Callees& callees, Keeper& keeper, CallSite& site) {
    const auto found = callees.cpp_kernels.find(site.function);
    for (std::size_t at = 0; at < site.arguments.size(); ++at) {
        Argument& argument = site.arguments[at];
        if (found == callees.cpp_kernels.end() || at >= found->second.size()) {
            if (argument.kind == ArgumentKind::tensor) argument.role = Role::unknown;
            continue;
        }
        const CppParameter& parameter = found->second[at];
        argument.parameter = keeper.keep(parameter.name);
        argument.type = keeper.keep(parameter.type);
        argument.role = parameter.role;
    }
}

void apply_op_rules(CallSite& site) {
    if (site.arguments.empty() || site.arguments[0].tensors.empty()) return;
    const std::string_view function = without_version(site.function);
    if (function.ends_with("_out")) {
        site.arguments[0].role = Role::writes;
    } else if (function == "aoti_torch_copy_" || function == "aoti_torch_zero_" ||
               function == "aoti_torch_tensor_copy_") {
        const std::size_t target = function == "aoti_torch_tensor_copy_" ? 1 : 0;
        if (target < site.arguments.size()) site.arguments[target].role = Role::writes;
    } else if (function.ends_with('_')) {
        site.arguments[0].role = Role::updates;  // an in-place op
    }
}

namespace {

/// Takes the JSON's name of the kind: as_float, as_ints.
ArgumentKind kind_of_value(std::string_view type) {
    if (type == "as_string") return ArgumentKind::string;
    if (type == "as_none") return ArgumentKind::absent;
    return type.ends_with('s') ? ArgumentKind::scalar_list : ArgumentKind::scalar;
}

/// Returns whether an op only reads its inputs, as PyTorch's functional ops do. The schema of a custom op
/// says what it mutates, but no file of a package contains it.
bool only_reads(std::string_view target) {
    const std::string_view op = target.substr(0, target.find('.'));
    const bool is_torch = op.starts_with("aten::") || op.starts_with("prims::");
    return is_torch && !op.ends_with('_') && target.find(".out") == std::string_view::npos;
}

}  // namespace

void apply_extern_node(const ExternNode& node, Keeper& keeper, CallSite& site) {
    site.name = keeper.keep(node.target);
    std::vector<TensorName> tensors = std::move(site.arguments.back().tensors);
    std::size_t inputs = 0;
    for (const ExternNode::Input& input : node.inputs) {
        inputs += input.tensors;
    }
    if (inputs + node.outputs != tensors.size()) {
        site.arguments.back().tensors = std::move(tensors);  // unexpected layout, so keep it as written
        site.arguments.back().role = Role::unknown;
        return;
    }
    site.arguments.clear();
    auto next = tensors.begin();
    for (const ExternNode::Input& input : node.inputs) {
        if (!keeper.allows_entry()) return;
        Argument argument;
        argument.parameter = keeper.keep(input.name);
        argument.value = keeper.keep(input.value);
        argument.text = argument.value;
        argument.type = keeper.keep(input.type);
        argument.integers = static_cast<std::uint32_t>(input.integers);
        argument.kind = input.tensors == 0 ? kind_of_value(input.type) : ArgumentKind::tensor;
        if (input.tensors > 1) argument.kind = ArgumentKind::tensor_list;
        if (input.tensors == 0 && input.integers == 0 && input.type.empty())
            argument.kind = ArgumentKind::absent;
        for (std::size_t taken = 0; taken < input.tensors; ++taken) {
            argument.tensors.push_back(std::move(*next++));
        }
        if (!argument.tensors.empty()) {
            argument.text = argument.tensors[0].name;
            argument.role = only_reads(node.target) ? Role::reads : Role::unknown;
        }
        site.arguments.push_back(std::move(argument));
    }
    for (; next != tensors.end() && keeper.allows_entry(); ++next) {
        Argument argument;
        argument.kind = ArgumentKind::tensor;
        argument.role = Role::writes;
        argument.text = next->name;
        argument.tensors.push_back(std::move(*next));
        site.arguments.push_back(std::move(argument));
    }
}

}  // namespace aoti_dbg
