// Which tensor each pointer of a kernel belongs to. A kernel gets bare addresses, and a buffer and a view of
// it can share one. So the address alone does not tell them apart; the order in which the model asked
// libtorch for the addresses does. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "shim/runtime/shim_api.hpp"

namespace aoti_dbg {

/// The model asked libtorch for the address of a tensor; null for one without elements.
struct FetchedPointer {
    std::uint64_t address = 0;
    TensorHandle handle = nullptr;
};

/// A pointer that a kernel gets.
struct PassedPointer {
    std::uint64_t address = 0;
    bool is_kept = false;  // by the model, as those of its weights are: it does not ask for them at each call
};

/// Compilers evaluate the arguments of a call in an order of their own: clang first to last, GCC last to
/// first.
enum class FetchOrder : std::uint8_t { first_to_last, last_to_first };

/// Sets `handles` to the tensor of each pointer, null where it is kept. `fetched` is what the model asked for
/// since its last call; the kernel's pointers are the last of these. Where addresses fit both orders, `order`
/// decides; where they fit one, that is stored there. False where they fit neither.
bool match_pointers(std::span<const PassedPointer> passed, std::span<const FetchedPointer> fetched,
                    FetchOrder& order, std::vector<TensorHandle>& handles);

}  // namespace aoti_dbg
