// What a statement of a run's body calls, and what is known of the arguments of each kind of callee.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "model/reading_limits.hpp"
#include "model/run_body.hpp"
#include "model/statement.hpp"
#include "model/wrapper_info.hpp"

namespace aoti_dbg {

struct Callee {
    std::string_view name;
    std::size_t open = 0;    // the bracket before its arguments
    bool is_member = false;  // of the kernel table: kernels.<name>(...)
};

/// The function called, looking through AOTI_TORCH_ERROR_CODE_CHECK. No name if the statement is no call.
Callee find_callee(const Statement& statement, TokenRange range);

/// What a callee is that no kernel of the wrapper tells; nothing for bookkeeping.
std::optional<CallKind> kind_by_name(const Callee& callee);

/// 12 of `12`, `12L`; the largest number for what is none.
std::size_t number_value(const Token& token);

/// Names, types and access of the arguments, each by what is known of the callee. `kernel` may be null.
void apply_kernel(const TritonKernelInfo* kernel, Keeper& keeper, CallSite& site);
void apply_prototype(const Callees& callees, Keeper& keeper, CallSite& site);
void apply_op_rules(CallSite& site);
/// Turns the executor's two arrays into the op's own arguments. The order of tensors stays that of the array.
void apply_extern_node(const ExternNode& node, Keeper& keeper, CallSite& site);

}  // namespace aoti_dbg
