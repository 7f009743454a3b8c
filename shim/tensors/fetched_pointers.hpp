// Finds the tensor that each pointer of a kernel belongs to. A kernel receives bare addresses, and a buffer
// and its view can share an address. The order in which the model fetched the addresses from libtorch
// resolves that. These functions have no side effects beyond their out-parameters.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "shim/runtime/shim_api.hpp"

namespace aoti_dbg {

/// An address that the model fetched from libtorch. It is null for a tensor without elements.
struct FetchedPointer {
    std::uint64_t address = 0;
    TensorHandle handle = nullptr;
};

/// A pointer that a kernel receives.
struct PassedPointer {
    std::uint64_t address = 0;
    bool is_kept = false;  // the model keeps it, like a weight's, and does not fetch it for each call
};

/// The order in which the compiler evaluates the arguments of a call: clang goes first to last, GCC last to
/// first.
enum class FetchOrder : std::uint8_t { first_to_last, last_to_first };

/// Sets `handles` to the tensor of each pointer, or null for a kept pointer. `fetched` has what the model
/// fetched since its last call; the kernel's pointers are its last entries. If the addresses fit both orders,
/// `order` decides. If they fit only one, that one is stored in `order`. Returns false if they fit neither.
bool match_pointers(std::span<const PassedPointer> passed, std::span<const FetchedPointer> fetched,
                    FetchOrder& order, std::vector<TensorHandle>& handles);

}  // namespace aoti_dbg
