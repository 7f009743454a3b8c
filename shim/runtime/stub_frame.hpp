// The frame that the x86-64 thunk lays out for one passage through a stub. thunk_x86_64.S uses the same
// offsets. Another architecture needs its own thunk, and its own layout here behind the same accessors.
#pragma once

#include <cstddef>
#include <cstdint>

namespace aoti_dbg {

#if !defined(__x86_64__)
#error \
    "No thunk for this architecture yet: write thunk_<arch>.S and dlsym_entry_<arch>.S, and its layout here."
#endif

struct StubFrame {
    double vectors[8][2];
    std::uint64_t integers[6];
    std::uint64_t vector_count;
    std::uint64_t static_chain;
    std::uint64_t results[2];
    double vector_results[2][2];
    std::uint64_t padding;
    std::uint64_t saved_frame_pointer;
    std::uint64_t slot;
    std::uint64_t return_address;
    std::uint64_t stack_arguments[1];  // as many as the function takes

    /// Returns the n-th integer or pointer argument.
    [[nodiscard]] std::uint64_t integer(std::size_t n) const {
        return n < 6 ? integers[n] : *(&stack_arguments[0] + (n - 6));
    }
    /// Returns the caller's stack pointer. It decreases from caller to callee on one stack.
    [[nodiscard]] std::uintptr_t address() const {
        return reinterpret_cast<std::uintptr_t>(&stack_arguments[0]);
    }
};
static_assert(offsetof(StubFrame, integers) == 128);
static_assert(offsetof(StubFrame, results) == 192);
static_assert(offsetof(StubFrame, vector_results) == 208);
static_assert(offsetof(StubFrame, saved_frame_pointer) == 248);
static_assert(offsetof(StubFrame, stack_arguments) == 272);

/// Where the thunk continues. If `stack_words` < 0, it jumps to the real function and does not call
/// aoti_dbg_after.
struct StubTarget {
    void* real;
    std::int64_t stack_words;
};

}  // namespace aoti_dbg

extern "C" {
aoti_dbg::StubTarget aoti_dbg_before(std::uint64_t slot, aoti_dbg::StubFrame* frame);
void aoti_dbg_after(std::uint64_t slot, aoti_dbg::StubFrame* frame);
}
