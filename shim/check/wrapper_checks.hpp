// AOTI_DBG_CHECK=args for the Python wrappers of torch.compile: what a wrapper asserts, and the tensors that
// it passes. Callers must test checking() first.
#pragma once

#include <cstdint>
#include <span>

#include "shim/runtime/shim_api.hpp"

namespace aoti_dbg {

class MeasuredModel;
struct OpenCall;
struct ThreadState;

/// The tensor of WrapperInfo::expected[`number`] in this run. Without `has_layout`, nothing is said about its
/// sizes and strides.
struct AssertedTensor {
    std::uint16_t model = 0;
    std::uint32_t number = 0;
    TensorHandle tensor = nullptr;
    bool has_layout = false;
    std::span<const std::int64_t> sizes;
    std::span<const std::int64_t> strides;
};

/// Checks what a wrapper, which is the thread's innermost run, asserts next.
void check_asserted(ThreadState& state, const AssertedTensor& asserted);

/// Checks the tensors that a kernel or an op is about to get.
void check_passed(ThreadState& state, const MeasuredModel& model, const OpenCall& call);

}  // namespace aoti_dbg
