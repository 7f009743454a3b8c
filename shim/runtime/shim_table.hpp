// What is known of each function of the AOTI C shim (aoti_torch_*): how its frame is read, what it is, what
// PyTorch's printer calls it. The table is generated from the headers that ship with torch
// (scripts/generate-shim-table) and is the union over releases: a symbol's signature never changes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace aoti_dbg {

enum class ShimKind : std::uint8_t {
    op,          // computes or fills tensors: aoti_torch_cpu_addmm_out, aoti_torch_cuda_sort_stable
    proxy,       // aoti_torch_proxy_executor_call_function
    dispatcher,  // aoti_torch_call_dispatcher and its kin: the op's name is an argument
    bookkeeping  // everything else: handles, sizes, guards, allocation
};

struct ShimSignature {
    std::string_view name;     // aoti_torch_cpu_sort_stable
    std::string_view printed;  // how PyTorch's debug printer names the op: at::_ops::sort_stable::call
    std::string_view args;  // one letter an argument, in order; the letters are explained in shim_table.inc
    std::string_view
        mutates;  // as many characters as args: 'm' where the op writes to that argument, else '-'
    ShimKind kind;
    std::uint8_t integers;        // arguments that take integer registers, then the stack
    std::uint8_t floats;          // arguments that take vector registers, then the stack
    std::string_view names = {};  // of an op's arguments, in order, with a blank between; or none at all

    /// Of an argument; empty where it has none.
    [[nodiscard]] std::string_view name_of(std::size_t argument) const;
    [[nodiscard]] unsigned stack_words() const {
        return (integers > 6U ? integers - 6U : 0U) + (floats > 8U ? floats - 8U : 0U);
    }
};

/// The signature of a shim function, or nullptr for one that no release in the table has.
const ShimSignature* find_shim(std::string_view name);

}  // namespace aoti_dbg
