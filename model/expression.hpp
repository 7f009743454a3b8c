// Resolves expressions of the wrapper source: casts, handles and temporaries to a tensor's own name,
// variables to their values.
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

/// The variables of one body that are declared so far. Texts are parts of the source.
class Variables {
  public:
    explicit Variables(Keeper& keeper) : keeper_(keeper) {}

    /// Declares `name` as a tensor under its own name.
    void declare_tensor(std::string_view name);
    /// Declares `name` as another name of `tensor`, such as var_2 or tmp_tensor_handle_0.
    void declare_alias(std::string_view name, TensorName tensor);
    /// Declares `name` as a scalar, a string or an array of them, written as `text`.
    void declare_value(std::string_view name, std::string_view text);

    [[nodiscard]] bool is_tensor(std::string_view name) const;
    /// Returns the declared value of the variable, or `word` itself if it is unknown.
    [[nodiscard]] std::string_view value_of(std::string_view word) const;

    /// Returns the tensor that the expression refers to, or nothing.
    std::optional<TensorName> tensor(const Statement& statement, TokenRange range);
    /// Returns the expression as an argument: kind, tensors, value and what & and .data_ptr() imply.
    Argument argument(const Statement& statement, TokenRange range);

    /// Returns whether Inductor uses the name for one statement only. PyTorch never prints such names.
    static bool is_temporary(std::string_view name);
    /// Returns buf0 for buf0_handle.
    static std::string_view without_handle(std::string_view name);

  private:
    /// An expression without its wrappers.
    struct Core {
        TokenRange range;
        std::optional<WrittenView> view;
        bool is_tensor = false;    // implied by its wrappers
        bool is_address = false;   // &
        bool is_optional = false;  // &temporary_reference(...)
    };
    Core peel(const Statement& statement, TokenRange range);
    bool peel_call(const Statement& statement, Core& core);
    bool peel_method(const Statement& statement, Core& core);
    void see_view(const Statement& statement, std::size_t open, Core& core);
    std::optional<TensorName> tensor_of(const Statement& statement, const Core& core);
    bool list(const Statement& statement, TokenRange range, Argument& argument);
    WrittenView kept(const WrittenView& view);
    std::string spelled_out(const Statement& statement, TokenRange range);

    Keeper& keeper_;
    std::map<std::string_view, std::optional<TensorName>> tensors_;  // an alias maps to its tensor
    std::map<std::string_view, std::string_view> values_;
};

}  // namespace aoti_dbg
