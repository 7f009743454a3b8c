#include "model/run_body.hpp"

#include <algorithm>
#include <utility>

#include "model/call_flow.hpp"
#include "model/callee.hpp"
#include "model/expression.hpp"

namespace aoti_dbg {
namespace {

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

class BodyReader {
  public:
    BodyReader(const Callees& callees, const WrapperInfo& wrapper, Keeper& keeper, RunBody& body)
        : callees_(callees), wrapper_(wrapper), keeper_(keeper), body_(body), scope_(keeper), flow_(body) {}

    void read(StatementReader& reader) {
        Statement statement;
        const std::uint64_t before = reader.steps();
        do {
            reader.next(statement);
            flow_.enter(statement);
            see(statement);
        } while (flow_.leave(statement));
        keeper_.steps += reader.steps() - before;
    }

  private:
    [[nodiscard]] std::uint32_t position() const { return static_cast<std::uint32_t>(body_.sites.size()); }

    void see(const Statement& statement) {
        for (const std::string_view comment : statement.comments()) {
            see_comment(comment);
        }
        if (statement.empty() || statement.end() == Statement::End::block_opens) return;
        TokenRange range = statement.all();
        if (statement[0].is_word("if")) range.first = std::min(statement.closing(1) + 1, range.last);
        const std::size_t assigned = statement.find('=', range);
        if (assigned < range.last) {
            see_assignment(statement, {range.first, assigned}, {assigned + 1, range.last});
        } else if (!see_declaration(statement, range) && !see_method(statement, range)) {
            see_call(statement, range);
        }
    }

    void see_comment(std::string_view comment) {
        static constexpr std::string_view kNodes = "Source Nodes: [";
        static constexpr std::string_view kHandle = " [Provenance debug handles] ";
        if (comment.find(kNodes) != std::string_view::npos) origin_ = comment;
        if (comment.starts_with(kHandle)) provenance_ = comment.substr(kHandle.size());
    }

    // Declarations and assignments.

    /// Returns the declared name in `auto buf4`, `static constexpr int64_t int_array_0[]` or `buf3`.
    static std::string_view declared(const Statement& statement, TokenRange left) {
        while (!left.empty() && (statement[left.last - 1].is(']') || statement[left.last - 1].is('['))) {
            --left.last;
        }
        const Token& name = statement[left.last - 1];
        return !left.empty() && name.kind == Token::Kind::word ? name.text : std::string_view();
    }

    void see_assignment(const Statement& statement, TokenRange left, TokenRange right) {
        if (statement[left.first].is_word("output_handles")) {
            see_output(statement, left, right);
            return;
        }
        const std::string_view name = declared(statement, left);
        if (name.empty() || right.empty()) return;
        const Token& first = statement[right.first];
        const bool is_moved = first.is_word("std") && statement[right.first + 3].is_word("move");
        const std::size_t inner = right.first + (is_moved ? 5 : 0);
        if (statement[inner].is_word("inputs") || first.is_word("constants_")) {
            scope_.declare_tensor(name);
            return;
        }
        if (is_handle(statement[left.first])) {
            scope_.declare_tensor(name);
            return;
        }
        std::optional<TensorName> tensor;
        if (!statement[left.last - 1].is(']')) tensor = scope_.tensor(statement, right);
        if (!tensor || !is_known(tensor->name)) {
            see_value(name, statement, right);
        } else if (const auto pool = pools_.find(tensor->name); pool != pools_.end()) {
            allocate(name, pool->second);
        } else if (Scope::is_temporary(name)) {
            scope_.declare_alias(name, *std::move(tensor));
        } else {
            share(name, *tensor, is_moved ? SharedMemory::How::moved : SharedMemory::How::shared);
        }
    }

    /// Returns whether this body has the tensor. Any other word could be anything.
    [[nodiscard]] bool is_known(std::string_view name) const {
        return scope_.is_tensor(name) || pools_.find(name) != pools_.end();
    }

    void see_value(std::string_view name, const Statement& statement, TokenRange right) {
        std::string_view text = statement.text(right);
        if (text == "nullptr") text = "{}";  // an empty array: *int_array_0=nullptr
        scope_.declare_value(name, text);
        if (keeper_.allows(body_.symbols.size(), kMaxNames))
            body_.symbols[keeper_.keep(name)] = keeper_.keep(text);
    }

    static bool is_handle(const Token& token) {
        return token.is_word("AtenTensorHandle") || token.is_word("ConstantHandle");
    }

    /// Reads `AtenTensorHandle buf0_handle;`, `RAIIAtenTensorHandle buf0(buf0_handle);` or `bool
    /// buf1_scalar;`.
    bool see_declaration(const Statement& statement, TokenRange range) {
        const bool owns = statement[range.first].is_word("RAIIAtenTensorHandle");
        if (!owns && !is_handle(statement[range.first])) return false;
        const Token& name = statement[range.first + 1];
        if (name.kind != Token::Kind::word) return false;
        if (!owns) {
            scope_.declare_tensor(Scope::without_handle(name.text));
            return true;
        }
        const std::size_t open = range.first + 2;
        const std::string_view handle = statement[open + 1].text;
        if (const auto pool = pools_.find(handle); pool != pools_.end()) {
            allocate(name.text, pool->second);
        } else if (statement[open].is('(') && Scope::without_handle(handle) != name.text) {
            const std::optional<TensorName> tensor =
                scope_.tensor(statement, {open + 1, statement.closing(open)});
            if (tensor) share(name.text, *tensor, SharedMemory::How::shared);
        }
        scope_.declare_tensor(name.text);
        return true;
    }

    void share(std::string_view name, const TensorName& of, SharedMemory::How how) {
        scope_.declare_tensor(name);
        if (of.name == name || !keeper_.allows(body_.shared_memory.size(), kMaxNames)) return;
        if (of.view) how = SharedMemory::How::view;
        body_.shared_memory.push_back({keeper_.keep(name), keeper_.keep(of.name), how, position()});
    }

    void see_output(const Statement& statement, TokenRange left, TokenRange right) {
        const std::size_t at = index_in(statement, left.first);
        if (statement[right.first].is_word("output_handles")) {  // the same tensor twice
            const std::size_t other = index_in(statement, right.first);
            if (other < body_.outputs.size()) set_output(at, TensorName(body_.outputs[other]));
        } else {
            set_output(at, scope_.tensor(statement, right).value_or(TensorName{}));
        }
    }

    /// Returns N for `output_handles[N]` at `at`.
    static std::size_t index_in(const Statement& statement, std::size_t at) {
        return number_value(statement[at + 2]);
    }

    void set_output(std::size_t at, TensorName tensor) {
        if (!keeper_.allows(at, kMaxPositions)) return;
        if (body_.outputs.size() <= at) body_.outputs.resize(at + 1);
        body_.outputs[at] = std::move(tensor);
    }

    // Calls.

    /// Reads `buf0.reset();`.
    bool see_method(const Statement& statement, TokenRange range) {
        if (range.size() != 5 || !statement[range.first + 1].is('.')) return false;
        if (!statement[range.first + 2].is_word("reset")) return false;
        if (keeper_.allows(body_.frees.size(), kMaxNames)) {
            body_.frees.push_back({keeper_.keep(statement[range.first].text), position()});
        }
        return true;
    }

    void see_call(const Statement& statement, TokenRange range) {
        const Callee callee = find_callee(statement, range);
        if (callee.name.empty()) return;
        std::vector<TokenRange> parts;
        statement.split(callee.open, parts);
        keeper_.steps += parts.size();
        if (!see_bookkeeping(statement, callee, parts)) see_site(statement, callee, parts);
    }

    std::string spelled(const Statement& statement, TokenRange part) {
        return keeper_.keep(part.size() == 1 ? scope_.value_of(statement[part.first].text)
                                             : statement.text(part));
    }

    /// Returns float32 for cached_torch_dtype_float32.
    std::string spelled(const Statement& statement, TokenRange part, std::string_view prefix) {
        std::string_view text = statement.text(part);
        if (text.starts_with(prefix)) text.remove_prefix(prefix.size());
        return keeper_.keep(text);
    }

    /// Returns the variable that a call fills in: the last word of its last argument.
    static std::string_view result(const Statement& statement, const std::vector<TokenRange>& parts) {
        if (parts.empty() || parts.back().size() != 2 || !statement[parts.back().first].is('&')) return {};
        return statement[parts.back().last - 1].text;
    }

    void allocate(std::string_view name, Allocation allocation) {
        scope_.declare_tensor(name);
        if (!keeper_.allows(body_.allocations.size(), kMaxNames)) return;
        allocation.name = keeper_.keep(name);
        allocation.before = position();
        allocation.region = flow_.region();
        body_.allocations.push_back(std::move(allocation));
    }

    bool see_bookkeeping(const Statement& statement, const Callee& callee,
                         const std::vector<TokenRange>& parts) {
        static constexpr std::string_view kDtype = "cached_torch_dtype_";
        const std::string_view made = result(statement, parts);
        if (callee.name.starts_with("aoti_torch_empty_strided") && parts.size() == 7) {
            allocate(Scope::without_handle(made), {{},
                                                   spelled(statement, parts[3], kDtype),
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
                                      spelled(statement, parts[2], kDtype),
                                      {},
                                      spelled(statement, parts[4]),
                                      spelled(statement, parts[5]),
                                      spelled(statement, parts[0]),
                                      spelled(statement, parts[1]),
                                      0};
            if (keeper_.allows(pools_.size(), kMaxNames)) pools_[made] = piece;
            return true;
        }
        if (callee.name == "aoti_torch_as_strided" || callee.name == "aoti_torch_new_tensor_handle" ||
            callee.name == "aoti_torch_assign_tensors_out") {
            if (parts.empty()) return true;
            std::optional<TensorName> tensor = scope_.tensor(statement, parts[0]);
            if (!tensor) return true;
            const std::string_view name = Scope::without_handle(made);
            if (Scope::is_temporary(made)) {
                scope_.declare_alias(made, *std::move(tensor));
            } else if (!name.empty()) {
                share(name, *tensor, SharedMemory::How::shared);
            }
            return true;
        }
        if (callee.name == "aoti_torch_new_uninitialized_tensor") {
            scope_.declare_tensor(Scope::without_handle(made));
            return true;
        }
        return callee.name.starts_with("aoti_torch_print_") || callee.name.starts_with("aoti_torch_save_");
    }

    void see_site(const Statement& statement, const Callee& callee, const std::vector<TokenRange>& parts) {
        const std::optional<CallKind> kind = kind_of(callee);
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
            site.arguments.push_back(scope_.argument(statement, part));
        }
        describe(statement, parts, site);
        if (site.kind != CallKind::copy) {
            read_list(origin_, "Source Nodes: [", keeper_, site.source_nodes);
            read_list(origin_, "Original ATen: [", keeper_, site.original_aten);
            site.provenance = keeper_.keep(provenance_);
            origin_ = provenance_ = {};
        }
        flow_.call(position());
        body_.sites.push_back(std::move(site));
    }

    [[nodiscard]] std::optional<CallKind> kind_of(const Callee& callee) const {
        if (callee.name.starts_with("call_")) {
            const auto kernel = callees_.triton_kernels.find(callee.name.substr(5));
            if (kernel == callees_.triton_kernels.end()) return CallKind::triton;
            return wrapper_.triton_kernels[kernel->second].is_user_defined ? CallKind::user_triton
                                                                           : CallKind::triton;
        }
        return kind_by_name(callee);
    }

    void describe(const Statement& statement, const std::vector<TokenRange>& parts, CallSite& site) {
        switch (site.kind) {
            case CallKind::triton:
            case CallKind::user_triton:
                describe_triton(site);
                break;
            case CallKind::cpp:
                apply_prototype(callees_, keeper_, site);
                break;
            case CallKind::proxy:
                describe_proxy(statement, parts, site);
                break;
            case CallKind::dispatcher:
                describe_dispatcher(site);
                break;
            case CallKind::op:
            case CallKind::copy:
                apply_op_rules(site);
                if (site.function.find("_view_dtype") != std::string::npos)
                    see_view_dtype(statement, parts, site);
                if (site.function.starts_with("aoti_torch_clone")) see_clone(statement, parts, site);
                break;
            case CallKind::device_kernel:
                break;
        }
    }

    void describe_triton(CallSite& site) {
        site.name = site.function.substr(std::min<std::size_t>(5, site.function.size()));
        site.key = site.name;
        const auto found = callees_.triton_kernels.find(site.name);
        if (found != callees_.triton_kernels.end()) site.kernel = found->second;
        apply_kernel(site.kernel == kNone ? nullptr : &wrapper_.triton_kernels[site.kernel], keeper_, site);
    }

    /// Reads `aoti_torch_proxy_executor_call_function(proxy_executor, 0, 1, {20}, 2, {arg1_1, buf1})`.
    void describe_proxy(const Statement& statement, const std::vector<TokenRange>& parts, CallSite& site) {
        if (parts.size() != 6 || site.arguments.size() != 6) return;
        site.proxy_node = static_cast<std::uint32_t>(number_value(statement[parts[1].first]));
        site.key = proxy_key(site.proxy_node);
        const bool is_known_node = site.proxy_node < callees_.extern_nodes.size();
        if (is_known_node) apply_extern_node(callees_.extern_nodes[site.proxy_node], keeper_, site);
    }

    /// Reads `aoti_torch_call_dispatcher("aten::add", "Tensor", dispatch_vars.data())`.
    static void describe_dispatcher(CallSite& site) {
        if (site.arguments.size() < 2) return;
        site.name = site.arguments[0].value;
        if (!site.arguments[1].value.empty()) site.name += "." + site.arguments[1].value;
        site.key = dispatcher_key(site.arguments[0].value, site.arguments[1].value);
    }

    /// Reads `aoti_torch_cpu_view_dtype(buf0, cached_torch_dtype_int32, &tmp_buf0_3)`.
    void see_view_dtype(const Statement& statement, const std::vector<TokenRange>& parts, CallSite& site) {
        if (parts.size() != 3 || site.arguments.size() != 3 || site.arguments[0].tensors.empty()) return;
        TensorName seen = site.arguments[0].tensors[0];
        if (!seen.view) seen.view.emplace();
        seen.view->dtype = spelled(statement, parts[1], "cached_torch_dtype_");
        site.arguments[2].kind = ArgumentKind::tensor;
        site.arguments[2].access = Access::writes;
        site.arguments[2].tensors = {seen};
        scope_.declare_alias(result(statement, parts), std::move(seen));
    }

    /// Reads `aoti_torch_clone(l1_bias, &output_handles[0])`, which returns a constant.
    void see_clone(const Statement& statement, const std::vector<TokenRange>& parts, const CallSite& site) {
        if (parts.size() != 2 || site.arguments.size() != 2 || site.arguments[0].tensors.empty()) return;
        if (!statement[parts[1].first + 1].is_word("output_handles")) return;
        set_output(index_in(statement, parts[1].first + 1), TensorName(site.arguments[0].tensors[0]));
    }

    const Callees& callees_;
    const WrapperInfo& wrapper_;
    Keeper& keeper_;
    RunBody& body_;
    Scope scope_;
    CallFlow flow_;
    std::string_view origin_;  // comments with the origin of the next site
    std::string_view provenance_;
    std::map<std::string_view, Allocation> pools_;  // tmp_tensor_handle_0, until it gets its name
};

}  // namespace

void read_run_body(StatementReader& reader, const Callees& callees, const WrapperInfo& wrapper,
                   Keeper& keeper, RunBody& body) {
    BodyReader(callees, wrapper, keeper, body).read(reader);
}

}  // namespace aoti_dbg
