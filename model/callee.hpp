// Identifies what a statement of a run's body calls and describes the arguments of each kind of callee.
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
    bool is_member = false;  // in the kernel table: kernels.<name>(...)
};

/// Returns the called function, also inside AOTI_TORCH_ERROR_CODE_CHECK. The name is empty if the statement
/// is not a call.
Callee find_callee(const Statement& statement, TokenRange range);

/// Returns the kind of a callee from its name alone, or nothing for bookkeeping.
std::optional<SiteKind> kind_by_name(const Callee& callee);

/// Returns 12 for `12` or `12L`, and the largest number for anything else.
std::size_t number_value(const Token& token);
/// Returns N for `output_handles[N]` or `inputs[N]` at `at`.
std::size_t handle_index(const Statement& statement, std::size_t at);

/// Fill in the names, types and access of the arguments from what is known of the callee. `kernel` may be
/// null.
void apply_kernel(const TritonKernelInfo* kernel, Keeper& keeper, CallSite& site);
void apply_prototype(const Callees& callees, Keeper& keeper, CallSite& site);
void apply_op_rules(CallSite& site);
/// Replaces the executor's two arrays by the op's own arguments. The tensors keep the order of the array.
void apply_extern_node(const ExternNode& node, Keeper& keeper, CallSite& site);

}  // namespace aoti_dbg
