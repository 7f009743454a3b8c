#include "model/call_reader.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace aoti_dbg {
namespace {

constexpr std::string_view kCachedDtype = "cached_torch_dtype_";

/// Reads [a, b, c] after `title` in a comment.
void read_list(std::string_view comment, std::string_view title, Keeper& keeper,
               std::vector<std::string>& names) {
    const std::size_t at = comment.find(title);
    if (at == std::string_view::npos) return;
    std::string_view list = comment.substr(at + title.size());
    list = list.substr(0, list.find(']'));
    while (!list.empty() && keeper.allows_entry()) {
        const std::size_t comma = list.find(", ");
        names.push_back(keeper.keep(list.substr(0, comma)));
        list.remove_prefix(comma == std::string_view::npos ? list.size() : comma + 2);
    }
}

/// Reads the lines of a Python stack, without empty ones.
void read_stack(std::string_view stack, Keeper& keeper, std::vector<std::string>& lines) {
    constexpr std::size_t kMostLines = 64;
    while (!stack.empty() && lines.size() < kMostLines && keeper.allows_entry()) {
        const std::size_t end = stack.find('\n');
        if (const std::string_view line = stack.substr(0, end); !line.empty())
            lines.push_back(keeper.keep(line));
        stack.remove_prefix(end == std::string_view::npos ? stack.size() : end + 1);
    }
}

/// Returns the variable that a call fills in: the last word of its last argument.
std::string_view result(const Statement& statement, const std::vector<TokenRange>& parts) {
    if (parts.empty() || parts.back().size() != 2 || !statement[parts.back().first].is('&')) return {};
    return statement[parts.back().last - 1].text;
}

/// Reads `aoti_torch_call_dispatcher("aten::add", "Tensor", dispatch_vars.data())`.
void describe_dispatcher(CallSite& site) {
    if (site.arguments.size() < 2) return;
    site.name = site.arguments[0].value;
    if (!site.arguments[1].value.empty()) site.name += "." + site.arguments[1].value;
    site.key = dispatcher_key(site.arguments[0].value, site.arguments[1].value);
}

}  // namespace

void CallReader::read_comment(std::string_view comment) {
    constexpr std::string_view kNodes = "Source Nodes: [";
    constexpr std::string_view kHandle = " [Provenance debug handles] ";
    if (comment.find(kNodes) != std::string_view::npos) origin_ = comment;
    if (comment.starts_with(kHandle)) provenance_ = comment.substr(kHandle.size());
}

void CallReader::read(const Statement& statement, TokenRange range) {
    if (statement[range.first].is_word("KernelContextGuard")) return see_guard(statement, range);
    const Callee callee = find_callee(statement, range);
    if (callee.name.empty()) return;
    std::vector<TokenRange> parts;
    statement.split(callee.open, parts);
    keeper_.steps += parts.size();
    if (!see_bookkeeping(statement, callee, parts)) see_site(statement, callee, parts);
}

/// Reads `KernelContextGuard _ctx("cpp_fused_relu_0", R"(...)");`, which precedes the call that it names.
void CallReader::see_guard(const Statement& statement, TokenRange range) {
    if (range.size() < 7 || !statement[range.first + 2].is('(')) return;
    const Token& function = statement[range.first + 3];
    const Token& stack = statement[range.first + 5];
    if (function.kind != Token::Kind::string || stack.kind != Token::Kind::raw_string) return;
    guarded_ = function.text;
    stack_ = stack.text;
}

std::string CallReader::spelled(const Statement& statement, TokenRange part) {
    return keeper_.keep(part.size() == 1 ? variables_.value_of(statement[part.first].text)
                                         : statement.text(part));
}

std::string CallReader::spelled(const Statement& statement, TokenRange part, std::string_view prefix) {
    std::string_view text = statement.text(part);
    if (text.starts_with(prefix)) text.remove_prefix(prefix.size());
    return keeper_.keep(text);
}

bool CallReader::see_bookkeeping(const Statement& statement, const Callee& callee, const Parts& parts) {
    const std::string_view made = result(statement, parts);
    if (callee.name.starts_with("aoti_torch_empty_strided") && parts.size() == 7) {
        memory_.allocate(Variables::without_handle(made),
                         {{},
                          spelled(statement, parts[3], kCachedDtype),
                          spelled(statement, parts[4], "cached_torch_device_type_"),
                          spelled(statement, parts[1]),
                          spelled(statement, parts[2]),
                          {},
                          {},
                          0});
        return true;
    }
    if (callee.name == "aoti_torch__alloc_from_pool" && parts.size() == 7) {
        const Allocation piece = {{},
                                  spelled(statement, parts[2], kCachedDtype),
                                  {},
                                  spelled(statement, parts[4]),
                                  spelled(statement, parts[5]),
                                  spelled(statement, parts[0]),
                                  spelled(statement, parts[1]),
                                  0};
        memory_.take_from_pool(made, piece);
        return true;
    }
    if (callee.name == "aoti_torch_as_strided" || callee.name == "aoti_torch_new_tensor_handle" ||
        callee.name == "aoti_torch_assign_tensors_out") {
        if (parts.empty()) return true;
        std::optional<TensorName> tensor = variables_.tensor(statement, parts[0]);
        if (!tensor) return true;
        const std::string_view name = Variables::without_handle(made);
        if (Variables::is_temporary(made)) {
            variables_.declare_alias(made, *std::move(tensor));
        } else if (!name.empty()) {
            memory_.share(name, *tensor, SharedMemory::How::shared);
        }
        return true;
    }
    if (callee.name.starts_with("aoti_torch_item_")) {
        // A C++ wrapper gets numbers as tensors: aoti_torch_item_int64(inputs[1], &arg1_1).
        if (!parts.empty() && statement[parts[0].first].is_word("inputs"))
            memory_.set_input(handle_index(statement, parts[0].first), made);
        return true;
    }
    if (callee.name == "aoti_torch_new_uninitialized_tensor") {
        variables_.declare_tensor(Variables::without_handle(made));
        return true;
    }
    return callee.name.starts_with("aoti_torch_print_") || callee.name.starts_with("aoti_torch_save_");
}

void CallReader::see_site(const Statement& statement, const Callee& callee, const Parts& parts) {
    const std::optional<SiteKind> kind = kind_of(callee);
    if (!kind || !keeper_.allows(body_.sites.size(), kMaxSites)) return;
    CallSite site;
    site.kind = *kind;
    site.function = keeper_.keep(callee.name);
    site.name = site.function;
    site.key = site.function;
    site.line = statement.line();
    site.region = flow_.region();
    site.has_more_arguments = statement.is_cut();
    for (const TokenRange& part : parts) {
        if (!keeper_.allows_entry()) {
            site.has_more_arguments = true;
            break;
        }
        site.arguments.push_back(variables_.argument(statement, part));
    }
    describe(statement, parts, site);
    if (site.kind != SiteKind::copy) {
        read_list(origin_, "Source Nodes: [", keeper_, site.source_nodes);
        read_list(origin_, "Original ATen: [", keeper_, site.original_aten);
        site.provenance = keeper_.keep(provenance_);
        if (guarded_ == site.function || guarded_ == site.name)
            read_stack(stack_, keeper_, site.python_stack);
        origin_ = provenance_ = guarded_ = stack_ = {};
    }
    flow_.call(memory_.position());
    body_.sites.push_back(std::move(site));
}

std::optional<SiteKind> CallReader::kind_of(const Callee& callee) const {
    if (callee.name.starts_with("call_")) {
        const auto kernel = callees_.triton_kernels.find(callee.name.substr(5));
        if (kernel == callees_.triton_kernels.end()) return SiteKind::triton;
        return wrapper_.triton_kernels[kernel->second].is_user_defined ? SiteKind::user_triton
                                                                       : SiteKind::triton;
    }
    return kind_by_name(callee);
}

void CallReader::describe(const Statement& statement, const Parts& parts, CallSite& site) {
    switch (site.kind) {
        case SiteKind::triton:
        case SiteKind::user_triton:
            describe_triton(site);
            break;
        case SiteKind::cpp:
            apply_prototype(callees_, keeper_, site);
            break;
        case SiteKind::proxy:
            describe_proxy(statement, parts, site);
            break;
        case SiteKind::dispatcher:
            describe_dispatcher(site);
            break;
        case SiteKind::op:
        case SiteKind::copy:
            apply_op_rules(site);
            if (site.function.find("_view_dtype") != std::string::npos)
                see_view_dtype(statement, parts, site);
            if (site.function.starts_with("aoti_torch_clone")) see_clone(statement, parts, site);
            break;
        case SiteKind::device_kernel:
            break;
    }
}

void CallReader::describe_triton(CallSite& site) {
    site.name = site.function.substr(std::min<std::size_t>(5, site.function.size()));
    site.key = site.name;
    const auto found = callees_.triton_kernels.find(site.name);
    if (found != callees_.triton_kernels.end()) site.kernel = found->second;
    apply_kernel(site.kernel == kNone ? nullptr : &wrapper_.triton_kernels[site.kernel], keeper_, site);
}

/// Reads `aoti_torch_proxy_executor_call_function(proxy_executor, 0, 1, {20}, 2, {arg1_1, buf1})`.
void CallReader::describe_proxy(const Statement& statement, const Parts& parts, CallSite& site) {
    if (parts.size() != 6 || site.arguments.size() != 6) return;
    site.proxy_node = static_cast<std::uint32_t>(number_value(statement[parts[1].first]));
    site.key = proxy_key(site.proxy_node);
    const bool is_known_node = site.proxy_node < callees_.extern_nodes.size();
    if (is_known_node) apply_extern_node(callees_.extern_nodes[site.proxy_node], keeper_, site);
}

/// Reads `aoti_torch_cpu_view_dtype(buf0, cached_torch_dtype_int32, &tmp_buf0_3)`.
void CallReader::see_view_dtype(const Statement& statement, const Parts& parts, CallSite& site) {
    if (parts.size() != 3 || site.arguments.size() != 3 || site.arguments[0].tensors.empty()) return;
    TensorName seen = site.arguments[0].tensors[0];
    if (!seen.view) seen.view.emplace();
    seen.view->dtype = spelled(statement, parts[1], kCachedDtype);
    site.arguments[2].kind = ArgumentKind::tensor;
    site.arguments[2].role = Role::writes;
    site.arguments[2].tensors = {seen};
    variables_.declare_alias(result(statement, parts), std::move(seen));
}

/// Reads `aoti_torch_clone(l1_bias, &output_handles[0])`, which returns a constant.
void CallReader::see_clone(const Statement& statement, const Parts& parts, const CallSite& site) {
    if (parts.size() != 2 || site.arguments.size() != 2 || site.arguments[0].tensors.empty()) return;
    if (!statement[parts[1].first + 1].is_word("output_handles")) return;
    memory_.set_output(handle_index(statement, parts[1].first + 1), TensorName(site.arguments[0].tensors[0]));
}

}  // namespace aoti_dbg
