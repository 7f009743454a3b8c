#include "model/triton_helper.hpp"

#include <algorithm>
#include <charconv>
#include <utility>
#include <vector>

namespace aoti_dbg {
namespace {

constexpr std::string_view kCall = "call_";

/// Skips to the end of the block that was just opened and passes each statement to `see`.
template <typename See>
void for_each_in_block(StatementReader& reader, const See& see) {
    Statement statement;
    for (std::size_t depth = 1; depth > 0;) {
        reader.next(statement);
        see(statement);
        if (statement.end() == Statement::End::source_ends) return;
        if (statement.end() == Statement::End::block_opens) ++depth;
        if (statement.end() == Statement::End::block_closes) --depth;
    }
}

/// Returns the declared name, the last word of `int64_t xnumel` or `void* kernel_args_[]`.
std::string_view declared(const Statement& statement, TokenRange range) {
    for (std::size_t at = range.last; at-- > range.first;) {
        if (statement[at].kind == Token::Kind::word) return statement[at].text;
    }
    return {};
}

/// The wrapper adds these after the kernel's own arguments.
bool is_launcher_parameter(std::string_view name) {
    return name == "device_idx_" || name == "stream_" || name == "kernels_" || name == "cubin_dir_";
}

class HelperReader {
  public:
    HelperReader(TritonKernelInfo& kernel, Keeper& keeper) : kernel_(kernel), keeper_(keeper) {}

    void see_parameters(const Statement& head, std::size_t open) {
        std::vector<TokenRange> parts;
        head.split(open, parts);
        bool is_own = true;
        for (const TokenRange& part : parts) {
            const std::size_t assigned = head.find('=', part);
            const std::string_view name = declared(head, {part.first, assigned});
            is_own = is_own && !is_launcher_parameter(name);
            has_kernel_table_ = has_kernel_table_ || name == "kernels_";
            if (!is_own) continue;
            if (!keeper_.allows_entry()) break;
            indices_.emplace(name, static_cast<std::uint32_t>(kernel_.parameters.size()));
            kernel_.parameters.push_back({keeper_.keep(name), {}, Role::reads});
        }
    }

    void see(const Statement& statement) {
        for (const std::string_view comment : statement.comments()) {
            if (kernel_.source.empty() && comment.find("@triton") != std::string_view::npos) {
                kernel_.source = keeper_.keep(comment, kMaxKernelText);
            }
        }
        const std::size_t assigned = statement.find('=', statement.all());
        if (assigned + 1 >= statement.size()) return;
        const TokenRange value = {assigned + 1, statement.size()};
        if (statement[value.first].is_word("loadKernel")) {
            see_load(statement, value.first + 1);
        } else if (statement[value.first].is('{')) {
            see_launched(statement, value.first);
        } else {
            see_variable(declared(statement, {0, assigned}), statement, value);
        }
    }

    /// True for two wrappers that do not contain the kernel's Python source: loadKernel(
    /// triton_poi_fused_0_result.cubin_path, ...) tunes it (PyTorch 2.12 and later,
    /// autotune_at_compile_time=False), and a C++ wrapper of torch.compile has no kernel table.
    [[nodiscard]] bool lacks_source() const { return is_tuned_by_wrapper_ || !has_kernel_table_; }

  private:
    /// Reads `loadKernel("/tmp/x/c2ee.cubin", "triton_poi_fused_0", 0, cubin_dir_)`.
    void see_load(const Statement& statement, std::size_t open) {
        std::vector<TokenRange> parts;
        statement.split(open, parts);
        if (parts.size() < 2) return;
        std::string path;
        std::string function;
        for (std::size_t at = parts[0].first; at < parts[0].last; ++at) {
            if (statement[at].is_string()) path += string_value(statement[at]);
            is_tuned_by_wrapper_ = is_tuned_by_wrapper_ || statement[at].is_word("cubin_path");
        }
        for (std::size_t at = parts[1].first; at < parts[1].last; ++at) {
            if (statement[at].is_string()) function += string_value(statement[at]);
        }
        std::string_view stem = path;
        stem.remove_prefix(std::min(stem.size(), stem.rfind('/') + 1));
        kernel_.cubin = keeper_.keep(stem.substr(0, stem.rfind('.')));
        kernel_.function = keeper_.keep(function);
    }

    /// Reads `CUdeviceptr var_0 = reinterpret_cast<CUdeviceptr>(in_ptr0.data_ptr());` and `int var_2 =
    /// xnumel;`.
    void see_variable(std::string_view name, const Statement& statement, TokenRange value) {
        for (std::size_t at = value.first; at < value.last; ++at) {
            ++keeper_.steps;
            const auto parameter = indices_.find(statement[at].text);
            if (statement[at].kind != Token::Kind::word || parameter == indices_.end()) continue;
            if (keeper_.allows(variables_.size(), kMaxNames)) variables_[name] = parameter->second;
            return;
        }
    }

    /// Reads `void* kernel_args_[] = {&var_0, &var_1, &global_scratch_4};`.
    void see_launched(const Statement& statement, std::size_t open) {
        if (!kernel_.launched.empty()) return;
        std::vector<TokenRange> parts;
        statement.split(open, parts);
        for (const TokenRange& part : parts) {
            if (!keeper_.allows_entry()) return;
            // A TMA descriptor is passed as parts of a variable: &var_0.m, &var_0.strides[0].
            const auto variable = variables_.find(statement[part.first + 1].text);
            kernel_.launched.push_back(variable == variables_.end() ? kNone : variable->second);
        }
    }

    TritonKernelInfo& kernel_;
    Keeper& keeper_;
    std::map<std::string_view, std::uint32_t> indices_;    // parameter indices by name
    std::map<std::string_view, std::uint32_t> variables_;  // parameter indices by variable
    bool is_tuned_by_wrapper_ = false;
    bool has_kernel_table_ = false;
};

/// Recognizes a Python string. The lexer returns 'name' as a quoted token, whatever its quotes.
bool is_quoted(const Token& token, std::string_view source) {
    if (token.is_string()) return true;
    return token.kind == Token::Kind::number && token.text.data() > source.data() &&
           token.text.data()[-1] == '\'';
}

struct SignatureEntry {
    std::string_view type;
    std::uint32_t position = 0;
};
using Signature = std::map<std::string_view, SignatureEntry>;

/// Reads the names and types between the braces after 'signature':.
Signature read_signature(SourceLexer& lexer, std::string_view source) {
    Signature types;
    std::string_view name;
    for (Token token = lexer.next(); token.kind != Token::Kind::end && !token.is('}'); token = lexer.next()) {
        if (!is_quoted(token, source)) continue;
        if (name.empty()) {
            name = token.text;
        } else {
            const auto position = static_cast<std::uint32_t>(types.size());
            if (types.size() < kMaxNames) types.emplace(name, SignatureEntry{token.text, position});
            name = {};
        }
    }
    return types;
}

std::uint32_t small_number(std::string_view text) {
    std::uint32_t number = 0;
    const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc() && rest == text.data() + text.size() ? number : kNone;
}

/// Reads the alignments after 'configs': [{(0,): [['tt.divisibility', 16]], (1,): ...}]. Maps positions in
/// the signature to bytes.
std::map<std::uint32_t, std::uint32_t> read_alignments(SourceLexer& lexer, std::string_view source,
                                                       std::uint64_t& steps) {
    std::map<std::uint32_t, std::uint32_t> alignments;
    std::uint32_t position = kNone;
    std::size_t depth = 0;
    bool is_divisibility = false;
    for (Token token = lexer.next(); token.kind != Token::Kind::end; token = lexer.next()) {
        ++steps;
        if (token.is('[') || token.is('{') || token.is('(')) ++depth;
        if (token.is('(')) position = kNone;
        // Only a colon may precede the list.
        if (depth == 0 && !token.is(':')) break;
        if ((token.is(']') || token.is('}') || token.is(')')) && --depth == 0) break;
        if (is_quoted(token, source)) {
            is_divisibility = token.text == "tt.divisibility";
        } else if (token.kind == Token::Kind::number) {
            const std::uint32_t number = small_number(token.text);
            if (is_divisibility && position != kNone && number != kNone && alignments.size() < kMaxNames)
                alignments.emplace(position, number);
            if (!is_divisibility) position = number;
            is_divisibility = false;
        }
    }
    return alignments;
}

/// Returns how a kernel from Inductor accesses an argument. The names follow a rule.
Role role_of(const TritonParameter& parameter, const TritonKernelInfo& kernel) {
    if (parameter.type.empty() || parameter.type[0] != '*') return Role::reads;
    if (kernel.is_user_defined) return Role::unknown;
    if (parameter.name.starts_with("out_ptr")) return Role::writes;
    if (parameter.name.starts_with("in_out_ptr")) return Role::updates;
    return Role::reads;
}

}  // namespace

void read_triton_source(std::string_view source, TritonKernelInfo& kernel, Keeper& keeper) {
    SourceLexer lexer(source);
    Signature types;
    std::map<std::uint32_t, std::uint32_t> alignments;
    for (Token token = lexer.next(); token.kind != Token::Kind::end; token = lexer.next()) {
        ++keeper.steps;
        if (token.is_word("user_autotune")) kernel.is_user_defined = true;
        // The code follows here. A helper function of the kernel may come before the signature.
        if (token.is_word("jit") && !types.empty()) break;
        if (!is_quoted(token, source)) continue;
        if (token.text == "signature" && types.empty()) types = read_signature(lexer, source);
        if (token.text == "configs" && !types.empty() && alignments.empty())
            alignments = read_alignments(lexer, source, keeper.steps);
        if (token.text == "mutated_arg_names" && kernel.mutated.empty()) {
            for (token = lexer.next(); token.kind != Token::Kind::end && !token.is(']');
                 token = lexer.next()) {
                ++keeper.steps;
                if (is_quoted(token, source) && keeper.allows_entry())
                    kernel.mutated.push_back(keeper.keep(token.text));
            }
        }
    }
    std::vector<std::string_view> mutated(kernel.mutated.begin(), kernel.mutated.end());
    std::sort(mutated.begin(), mutated.end());
    for (TritonParameter& parameter : kernel.parameters) {
        const auto type = types.find(parameter.name);
        if (type != types.end()) {
            parameter.type = keeper.keep(type->second.type);
            const auto alignment = alignments.find(type->second.position);
            if (alignment != alignments.end() && type->second.type.starts_with('*'))
                parameter.alignment = alignment->second;
        }
        parameter.role = types.empty() ? Role::unknown : role_of(parameter, kernel);
        if (parameter.role != Role::writes &&
            std::binary_search(mutated.begin(), mutated.end(), std::string_view(parameter.name))) {
            parameter.role = Role::updates;
        }
    }
}

namespace {

/// Finds call_<kernel> in `static inline void call_<kernel>(`, which newer releases write as
/// `static __attribute__((noinline)) void call_<kernel>(`. Returns the size of the head if it is not there.
std::size_t find_helper_name(const Statement& head) {
    for (std::size_t at = 1; at + 1 < head.size(); ++at) {
        if (head[at - 1].is_word("void") && head[at].text.starts_with(kCall) && head[at + 1].is('('))
            return at;
        const bool is_attribute = head[at - 1].is_word("__attribute__");
        if (head[at].is('(') && !is_attribute) break;
        if (head[at].is('(')) at = head.closing(at);
    }
    return head.size();
}

/// Inductor names its own kernels and their parameters by a rule.
Role role_by_name(std::string_view parameter) {
    if (parameter.starts_with("out_ptr")) return Role::writes;
    if (parameter.starts_with("in_out_ptr")) return Role::updates;
    return parameter.starts_with("in_ptr") ? Role::reads : Role::unknown;
}

}  // namespace

std::optional<TritonKernelInfo> read_triton_helper(const Statement& head, StatementReader& reader,
                                                   Keeper& keeper) {
    const std::size_t name = find_helper_name(head);
    if (name == head.size()) return std::nullopt;
    const std::size_t open = name + 1;
    TritonKernelInfo kernel;
    kernel.name = keeper.keep(head[name].text.substr(kCall.size()));
    HelperReader helper(kernel, keeper);
    helper.see_parameters(head, open);
    for_each_in_block(reader, [&](const Statement& statement) { helper.see(statement); });
    read_triton_source(kernel.source, kernel, keeper);
    if (helper.lacks_source() && kernel.source.empty() && kernel.name.starts_with("triton_")) {
        for (TritonParameter& parameter : kernel.parameters)
            parameter.role = role_by_name(parameter.name);
    }
    return kernel;
}

}  // namespace aoti_dbg
