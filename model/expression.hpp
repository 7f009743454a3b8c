// Finds out what an expression of the wrapper source stands for: through casts, handles and temporaries to
// the tensor's own name, through variables to the value.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "model/reading_limits.hpp"
#include "model/statement.hpp"
#include "model/wrapper_info.hpp"

namespace aoti_dbg {

/// The variables of one body, as far as they are declared by now. Texts are parts of the source.
class Scope {
  public:
    explicit Scope(Keeper& keeper) : keeper_(keeper) {}

    /// `name` is a tensor from here on, under its own name.
    void declare_tensor(std::string_view name);
    /// `name` is only another way to write `tensor`: var_2, tmp_tensor_handle_0.
    void declare_alias(std::string_view name, TensorName tensor);
    /// `name` is a scalar, string or array of them, written as `text`.
    void declare_value(std::string_view name, std::string_view text);

    [[nodiscard]] bool is_tensor(std::string_view name) const;
    /// What the variable was declared as; itself if it is unknown.
    [[nodiscard]] std::string_view value_of(std::string_view word) const;

    /// The tensor that the expression is, or nothing.
    std::optional<TensorName> tensor(const Statement& statement, TokenRange range);
    /// The expression as an argument: kind, tensors, value, and what & and .data_ptr() say about it.
    Argument argument(const Statement& statement, TokenRange range);

    /// Names that Inductor gives to what exists for one statement only. PyTorch never prints them.
    static bool is_temporary(std::string_view name);
    /// buf0_handle -> buf0
    static std::string_view without_handle(std::string_view name);

  private:
    /// An expression without what only wraps it.
    struct Core {
        TokenRange range;
        std::optional<TensorView> view;
        bool is_tensor = false;    // by what stood around it
        bool is_address = false;   // &
        bool is_optional = false;  // &temporary_reference(...)
    };
    Core peel(const Statement& statement, TokenRange range);
    bool peel_call(const Statement& statement, Core& core);
    bool peel_method(const Statement& statement, Core& core);
    void see_view(const Statement& statement, std::size_t open, Core& core);
    std::optional<TensorName> tensor_of(const Statement& statement, const Core& core);
    bool list(const Statement& statement, TokenRange range, Argument& argument);
    TensorView kept(const TensorView& view);
    std::string spelled_out(const Statement& statement, TokenRange range);

    Keeper& keeper_;
    std::map<std::string_view, std::optional<TensorName>> tensors_;  // aliases have what they stand for
    std::map<std::string_view, std::string_view> values_;
};

}  // namespace aoti_dbg
