// The pool of slots behind the stubs. A slot names the real function behind its stub and describes it. Slots
// with the same name, real function and owner are shared, so binding twice changes nothing. The slots of an
// unloaded model are retired. The pool reuses retired slots only when it is exhausted, oldest first. No
// thread can still be inside an unmapped function, so no thread is behind a retired stub.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <string_view>

#include "serializer/flight_ring_format.hpp"
#include "shim/runtime/shim_table.hpp"

// The library exports none of these, so it need not look up their addresses.
#pragma GCC visibility push(hidden)

namespace aoti_dbg {

struct Name;

inline constexpr std::uint32_t kSlots = 64 * 256;  // as many as thunk_x86_64.S has stubs

/// What a passage through the stub means.
enum class SlotRole : std::uint8_t {
    call,        // a kernel or op
    proxy,       // an op that the second argument identifies by number
    dispatcher,  // an op that the first two arguments identify by name and overload
    run,         // an inference starts and ends
    grad_mode,   // an inference starts or ends in a model whose Run cannot be hooked
    lifecycle,   // creates, changes or destroys the model
    mark,        // does nothing, but shows that the model is bound
    pointer,     // the model asks for a tensor's address
    view,        // the model creates another view of a storage
    made,        // the model allocates a tensor
    freed,       // the model frees a tensor
    last_error,  // the caller asks why a function of the model failed
    python_run,  // Python calls a C++ wrapper of torch.compile
};

/// The number of stack arguments is unknown. The thunk repeats as many words as are safe to read, at most
/// kBlindWords.
inline constexpr std::int32_t kUnknownWords = -1;
inline constexpr std::int64_t kBlindWords = 4096;

// Each slot fills one cache line, because every passage through a stub begins by reading one.
struct alignas(64) Slot {
    void* real = nullptr;
    const Name* name = nullptr;
    std::int32_t stack_words = 0;
    std::uint16_t model = ring::kNoModel;  // kNoModel: shared by all models
    std::uint16_t integers = 0;            // known integer arguments of a cpp kernel
    SlotRole role = SlotRole::call;
    ring::CallKind kind = ring::CallKind::unknown;
    const ShimSignature* shim = nullptr;  // of a shim function, else null
    bool gives_tensors = false;           // the call may return more handles than it got; stub_for() sets it
    bool moves_tensors = false;           // a tensor may get other memory and sizes; stub_for() sets it
    std::uint32_t role_bit = 0;           // 1 << role; stub_for() sets it
};
// thunk_x86_64.S relies on these offsets.
static_assert(sizeof(Slot) == 64 && offsetof(Slot, real) == 0 && offsetof(Slot, role_bit) == 44);

/// Finds or creates the stub for `requested.real`. Returns null if the pool is full, and warns once.
void* stub_for(const Slot& requested);

/// True if the shim function may give a tensor other memory and sizes, behind the same handle.
bool moves_tensors(std::string_view op);

/// Returns true if `address` is one of our stubs.
bool is_stub(const void* address);

/// Room for a slot. stub_for() creates each slot at its first use, so that the library's file and a process
/// that has no model do not hold a megabyte of unused slots.
struct alignas(Slot) SlotRoom {
    std::byte bytes[sizeof(Slot)];
};
extern SlotRoom g_slots[kSlots];
inline Slot& slot_at(std::uint64_t number) {
    return *std::launder(reinterpret_cast<Slot*>(&g_slots[number]));
}

/// The roles, as bits, that the calling thread does not inspect during the current run. The thunk calls their
/// real functions directly.
extern __thread std::uint32_t t_unwatched_roles __attribute__((tls_model("initial-exec")));

constexpr std::uint32_t bit_of(SlotRole role) {
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

/// Call this when a model is unloaded. Its own slots (not the shared ones) may then be reused.
void retire_slots_of(std::uint16_t model);

}  // namespace aoti_dbg

#pragma GCC visibility pop
