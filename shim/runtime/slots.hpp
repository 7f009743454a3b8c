// The pool of slots behind the stubs. A slot says which real function its stub stands before and what is
// known of it. Slots are shared where name, real function and owner agree, so binding twice changes nothing.
//
// Slots of a model that left the process are retired and come back into use only when the pool is exhausted,
// oldest first: no thread can be inside a function that is no longer mapped, so nobody is behind a retired
// stub.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "serializer/flight_ring_format.hpp"
#include "shim/runtime/shim_table.hpp"

namespace aoti_dbg {

struct Name;

inline constexpr std::uint32_t kSlots = 64 * 256;  // as many as thunk_x86_64.S has stubs

/// What passing through the stub means.
enum class SlotRole : std::uint8_t {
    call,        // a kernel or op
    proxy,       // an op whose name is found by its number, the second argument
    dispatcher,  // an op whose name and overload are its first two arguments
    run,         // the borders of an inference
    grad_mode,   // the borders of an inference in a model whose Run cannot be hooked
    lifecycle,   // the model is changed or goes
    mark,        // nothing: it shows that the model is bound
    pointer,     // the model asks for a tensor's address
    view,        // the model looks at a storage in another way
    made,        // the model makes room for a tensor
    freed,       // it lets go of one
};

/// The stack arguments are not known: as many words are repeated as can be read safely, at most kBlindWords.
inline constexpr std::int32_t kUnknownWords = -1;
inline constexpr std::int64_t kBlindWords = 4096;

// A line of the cache each: every passage through a stub begins with one.
struct alignas(64) Slot {
    void* real = nullptr;
    const Name* name = nullptr;
    std::int32_t stack_words = 0;
    std::uint16_t model = ring::kNoModel;  // kNoModel: shared by all models
    std::uint16_t integers = 0;            // of a cpp kernel: its integer arguments, as far as they are known
    SlotRole role = SlotRole::call;
    ring::CallKind kind = ring::CallKind::unknown;
    const ShimSignature* shim = nullptr;  // of a function of the shim
    bool gives_tensors = false;  // more handles may be there after it than before; known by stub_for()
    std::uint32_t role_bit = 0;  // 1 << role, likewise
};
// What thunk_x86_64.S knows of it.
static_assert(sizeof(Slot) == 64 && offsetof(Slot, real) == 0 && offsetof(Slot, role_bit) == 44);

/// The stub that stands before `wanted.real`, made or found; nullptr where the pool is full (said once).
void* stub_for(const Slot& wanted);

/// Whether `address` is one of our stubs.
bool is_stub(const void* address);

extern Slot g_slots[kSlots];
inline const Slot& slot_at(std::uint64_t number) {
    return g_slots[number];
}

/// Roles (their bits) that the calling thread has nothing to look at for, in the run that is under way: the
/// thunk passes them by at once.
extern __thread std::uint32_t t_unwatched_roles __attribute__((tls_model("initial-exec")));

inline std::uint32_t bit_of(SlotRole role) {
    return 1U << static_cast<unsigned>(role);
}
inline void pass_by(SlotRole role) {
    t_unwatched_roles |= bit_of(role);
}
inline void watch(SlotRole role) {
    t_unwatched_roles &= ~bit_of(role);
}
inline void watch_all_roles() {
    t_unwatched_roles = 0;
}

/// The model left the process: its own slots (not the shared ones) may be used again.
void retire_slots_of(std::uint16_t model);

}  // namespace aoti_dbg
