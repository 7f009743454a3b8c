#include "model/expression.hpp"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

namespace aoti_dbg {
namespace {

template <std::size_t N>
bool is_one_of(std::string_view word, const std::string_view (&words)[N]) {
    return std::find(std::begin(words), std::end(words), word) != std::end(words);
}

/// Returns whether the function returns the tensor that it receives.
bool wraps_a_tensor(std::string_view function) {
    static constexpr std::string_view kWrappers[] = {"wrap_with_raii_handle_if_needed",
                                                     "RAIIAtenTensorHandle",
                                                     "ConstantHandle",
                                                     "unwrap_raii_handle_if_needed",
                                                     "borrow_arrayref_tensor_as_tensor",
                                                     "copy_arrayref_tensor_to_tensor",
                                                     "convert_arrayref_tensor_to_tensor",
                                                     "AtenTensorHandle"};
    return is_one_of(function, kWrappers);
}

/// Recognizes names of buffers and inputs in sources whose start is missing.
bool looks_like_tensor(std::string_view name) {
    for (const std::string_view beginning : {"buf", "arg"}) {
        if (name.starts_with(beginning) && name.size() > 3 && name[3] >= '0' && name[3] <= '9') return true;
    }
    return false;
}

/// Combines two views. The later one wins, and the earlier one fills in what it does not set.
void lay_over(std::optional<WrittenView>& view, WrittenView below) {
    if (!view) {
        view = std::move(below);
        return;
    }
    if (view->dtype.empty()) view->dtype = std::move(below.dtype);
    if (view->sizes.empty()) view->sizes = std::move(below.sizes);
    if (view->strides.empty()) view->strides = std::move(below.strides);
    if (view->offset.empty()) view->offset = std::move(below.offset);
}

}  // namespace

bool Variables::is_temporary(std::string_view name) {
    return name.starts_with("var_") || name.starts_with("tmp_");
}

std::string_view Variables::without_handle(std::string_view name) {
    for (const std::string_view ending : {"_handle_restrided", "_handle"}) {
        if (name.ends_with(ending) && name.size() > ending.size()) {
            return name.substr(0, name.size() - ending.size());
        }
    }
    return name;
}

void Variables::declare_tensor(std::string_view name) {
    if (name.empty() || !keeper_.allows(tensors_.size(), kMaxNames)) return;
    tensors_[name] = std::nullopt;
    values_.erase(name);
}

void Variables::declare_alias(std::string_view name, TensorName tensor) {
    if (name.empty() || !keeper_.allows(tensors_.size(), kMaxNames)) return;
    tensors_[name] = std::move(tensor);
}

void Variables::declare_value(std::string_view name, std::string_view text) {
    if (name.empty() || !keeper_.allows(values_.size(), kMaxNames)) return;
    values_[name] = text;
}

bool Variables::is_tensor(std::string_view name) const {
    return tensors_.find(name) != tensors_.end();
}

std::string_view Variables::value_of(std::string_view word) const {
    const auto found = values_.find(word);
    return found == values_.end() ? word : found->second;
}

std::string Variables::spelled_out(const Statement& statement, TokenRange range) {
    if (range.size() == 1 && statement[range.first].kind == Token::Kind::word) {
        return keeper_.keep(value_of(statement[range.first].text));
    }
    return keeper_.keep(statement.text(range));
}

WrittenView Variables::kept(const WrittenView& view) {
    return {keeper_.keep(view.sizes), keeper_.keep(view.strides), keeper_.keep(view.offset),
            keeper_.keep(view.dtype)};
}

/// Reads `reinterpret_tensor_wrapper(buf0, 2, int_array_2, int_array_3, 0L)`.
void Variables::see_view(const Statement& statement, std::size_t open, Core& core) {
    std::vector<TokenRange> parts;
    statement.split(open, parts);
    keeper_.steps += parts.size();
    core.is_tensor = true;
    core.range = parts.empty() ? TokenRange{} : parts[0];
    if (parts.size() < 5) return;
    WrittenView view;
    view.sizes = spelled_out(statement, parts[2]);
    view.strides = spelled_out(statement, parts[3]);
    view.offset = spelled_out(statement, parts[4]);
    if (core.view) {
        lay_over(core.view, std::move(view));
    } else {
        core.view = std::move(view);
    }
}

/// Unwraps name(...), std::name(...) or name<T>(...) if its closing bracket ends the expression.
bool Variables::peel_call(const Statement& statement, Core& core) {
    TokenRange& range = core.range;
    std::size_t at = range.first;
    while (statement[at].kind == Token::Kind::word && statement[at + 1].is(':') &&
           statement[at + 2].is(':')) {
        at += 3;
        ++keeper_.steps;
    }
    if (statement[at].kind != Token::Kind::word) return false;
    const std::string_view function = statement[at].text;
    std::size_t open = at + 1;
    if (function.ends_with("_cast") && statement[open].is('<')) {
        while (open < range.last && !statement[open].is('(')) {
            ++open;
            ++keeper_.steps;
        }
    }
    if (open >= range.last || !statement[open].is('(') || statement.closing(open) != range.last - 1)
        return false;
    if (function == "reinterpret_tensor_wrapper") {
        see_view(statement, open, core);
        return true;
    }
    const bool is_reference = function == "temporary_reference";
    if (!is_reference && function != "move" && !function.ends_with("_cast") && !wraps_a_tensor(function)) {
        return false;
    }
    if (is_reference && core.is_address) core.is_optional = true;
    core.is_tensor = core.is_tensor || wraps_a_tensor(function);
    range = {open + 1, range.last - 1};
    return true;
}

/// Unwraps E.data_ptr() and similar calls.
bool Variables::peel_method(const Statement& statement, Core& core) {
    TokenRange& range = core.range;
    if (range.size() < 5 || !statement[range.last - 1].is(')') || !statement[range.last - 2].is('(') ||
        !statement[range.last - 4].is('.')) {
        return false;
    }
    const std::string_view method = statement[range.last - 3].text;
    if (method != "get" && method != "data_ptr" && method != "release") return false;
    core.is_tensor = true;
    range.last -= 4;
    return true;
}

Variables::Core Variables::peel(const Statement& statement, TokenRange range) {
    Core core;
    core.range = range;
    for (;;) {
        TokenRange& inner = core.range;
        ++keeper_.steps;
        if (inner.size() < 2) return core;
        const Token& first = statement[inner.first];
        if (first.is('&') || first.is('*')) {
            core.is_address = core.is_address || first.is('&');
            ++inner.first;
        } else if (first.is('(') && statement.closing(inner.first) < inner.last) {
            // Brackets around the whole expression, or a cast before the rest.
            const std::size_t close = statement.closing(inner.first);
            inner = close == inner.last - 1 ? TokenRange{inner.first + 1, close}
                                            : TokenRange{close + 1, inner.last};
        } else if (!peel_method(statement, core) && !peel_call(statement, core)) {
            return core;
        }
    }
}

std::optional<TensorName> Variables::tensor_of(const Statement& statement, const Core& core) {
    const Token& word = statement[core.range.first];
    if (core.range.size() != 1 || word.kind != Token::Kind::word) return std::nullopt;
    TensorName name;
    name.view = core.view;
    auto known = tensors_.find(word.text);
    std::string_view own = word.text;
    if (known == tensors_.end()) {
        own = without_handle(word.text);
        known = tensors_.find(own);
    }
    if (known != tensors_.end() && known->second) {
        const TensorName& meant = *known->second;
        name.name = keeper_.keep(meant.name);
        if (meant.view) lay_over(name.view, kept(*meant.view));
        return name;
    }
    if (known == tensors_.end() && !core.is_tensor && !looks_like_tensor(own)) return std::nullopt;
    name.name = keeper_.keep(own);
    return name;
}

std::optional<TensorName> Variables::tensor(const Statement& statement, TokenRange range) {
    const Core core = peel(statement, range);
    return tensor_of(statement, core);
}

/// Reads `std::array<AtenTensorHandle, 2>{buf0, buf2}.data()`. 2.6 writes a std::vector.
bool Variables::list(const Statement& statement, TokenRange range, Argument& argument) {
    std::size_t at = range.first;
    if (statement[at].is_word("std") && statement[at + 1].is(':')) at += 3;
    if (!statement[at].is_word("array") && !statement[at].is_word("vector")) return false;
    if (!statement[at + 1].is('<')) return false;
    bool of_tensors = false;
    while (at < range.last && !statement[at].is('{')) {
        of_tensors = of_tensors || statement[at].is_word("AtenTensorHandle");
        ++at;
        ++keeper_.steps;
    }
    if (at >= range.last) return false;
    std::vector<TokenRange> parts;
    statement.split(at, parts);
    keeper_.steps += parts.size();
    argument.kind = of_tensors ? ArgumentKind::tensor_list : ArgumentKind::scalar_list;
    if (!of_tensors) {
        const std::size_t close = std::min(statement.closing(at) + 1, range.last);
        argument.value = keeper_.keep(statement.text({at, close}));
        return true;
    }
    for (const TokenRange& part : parts) {
        if (!keeper_.allows_entry()) break;
        argument.tensors.push_back(tensor(statement, part).value_or(TensorName{}));
    }
    return true;
}

Argument Variables::argument(const Statement& statement, TokenRange range) {
    Argument argument;
    argument.text = keeper_.keep(statement.text(range));
    if (range.empty()) return argument;
    TokenRange inside = range;
    if (statement[inside.first].is('&') && statement[inside.first + 1].is_word("temporary_reference")) {
        inside = {inside.first + 3, inside.last - 1};  // an optional list
    }
    if (list(statement, inside, argument)) return argument;
    Core core = peel(statement, range);
    // 2.15 writes static_cast<const int64_t*>(std::array<int64_t, 1>{1L}.data()).
    if (list(statement, core.range, argument)) return argument;
    const Token& first = statement[core.range.first];
    if (const std::optional<TensorName> name = tensor_of(statement, core);
        name && !first.is_word("nullptr") && values_.find(first.text) == values_.end()) {
        // 2.6 writes `AtenTensorHandle var_2 = head_bias.get();` and passes &var_2.
        if (core.is_address && first.text.starts_with("var_") && name->name != first.text)
            core.is_optional = true;
        argument.kind = core.is_optional ? ArgumentKind::optional_tensor : ArgumentKind::tensor;
        if (core.is_address && !core.is_optional) argument.role = Role::writes;  // &buf2_handle
        argument.tensors.push_back(*name);
        return argument;
    }
    if (core.range.size() == 1) {
        const std::string_view value = first.kind == Token::Kind::word ? value_of(first.text) : first.text;
        if (first.is_word("nullptr")) {
            argument.kind = ArgumentKind::absent;
            return argument;
        }
        if (first.is_string() || value.starts_with('\"')) {
            argument.kind = ArgumentKind::string;
            const std::string_view bare = first.is_string() ? first.text : value.substr(1, value.size() - 2);
            argument.value = keeper_.keep(bare);
            return argument;
        }
        if (value.starts_with('{')) {
            argument.kind = ArgumentKind::scalar_list;
            argument.value = keeper_.keep(value);
            return argument;
        }
        static constexpr std::string_view kNoValues[] = {"proxy_executor", "stream", "kernels", "this"};
        if (first.kind == Token::Kind::word && is_one_of(first.text, kNoValues)) return argument;
        argument.kind = ArgumentKind::scalar;
        argument.value = keeper_.keep(value);
        return argument;
    }
    argument.value = keeper_.keep(statement.text(range));
    if (!first.is_word("this")) argument.kind = ArgumentKind::scalar;  // 12L*s77, -1L, cached_torch_...
    return argument;
}

}  // namespace aoti_dbg
