// The arguments of a call, decoded from its frame: by the letters of shim_table.inc for shim functions, by
// the call site for cpp_fused_* kernels and for launches. Follows pointers to handles, never handles
// themselves.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "shim/runtime/shim_api.hpp"
#include "shim/runtime/shim_table.hpp"
#include "shim/runtime/stub_frame.hpp"
#include "shim/tensors/scalar_text.hpp"
#include "shim/tensors/site_plan.hpp"

namespace aoti_dbg {

struct CallArgument {
    enum class Kind : std::uint8_t {
        tensor,   // behind `handle`
        pointer,  // to a tensor's elements: `address`
        scalar,   // its value is `text`
    };
    Kind kind = Kind::tensor;
    bool only_after = false;  // the call makes it: there is nothing to look at before
    bool may_write = false;   // the call may write to its memory
    const PlannedArgument* facts = nullptr;
    TensorHandle handle = nullptr;
    std::uint64_t address = 0;
    ShortText text;
};

/// Reads arguments one after the other, as the System V convention hands them out.
class FrameReader {
  public:
    explicit FrameReader(const StubFrame& frame) : frame_(frame) {}
    std::uint64_t integer() { return integers_ < 6 ? frame_.integers[integers_++] : stack(); }
    double real() { return __builtin_bit_cast(double, real_bits()); }
    float single() { return __builtin_bit_cast(float, static_cast<std::uint32_t>(real_bits())); }
    template <typename Pointer>
    Pointer pointer() {
        return reinterpret_cast<Pointer>(integer());
    }

  private:
    std::uint64_t stack() { return *(&frame_.stack_arguments[0] + words_++); }
    std::uint64_t real_bits() {
        return vectors_ < 8 ? __builtin_bit_cast(std::uint64_t, frame_.vectors[vectors_++][0]) : stack();
    }
    const StubFrame& frame_;
    unsigned integers_ = 0;
    unsigned vectors_ = 0;
    unsigned words_ = 0;
};

/// All of these append to `found`. `plan` may be null: labels are arg0, arg1, ... by position. Arguments that
/// are absent are left out. After a call places of returned tensors are followed, before it they are not.
void shim_arguments(const ShimSignature& shim, const StubFrame& frame, const SitePlan* plan, bool after,
                    std::vector<CallArgument>& found);

/// Only the tensors that an op may have made, which has come back; their roles say whether it has.
void made_arguments(const ShimSignature& shim, const StubFrame& frame, const SitePlan& plan,
                    std::vector<CallArgument>& found);

/// Of a cpp kernel. Without a plan the first `integers` integer arguments, each as a pointer that may be
/// none.
void kernel_arguments(const StubFrame& frame, const SitePlan* plan, unsigned integers,
                      std::vector<CallArgument>& found);

/// Of a launch: `parameters` as cuLaunchKernel gets them. `launched` says which argument of the site each of
/// them is (TritonKernelInfo::launched); without it `sizes`, bytes of each, tell what may be a pointer.
void launch_arguments(void* const* parameters, const SitePlan* plan, std::span<const std::uint32_t> launched,
                      std::span<const std::uint32_t> sizes, std::vector<CallArgument>& found);

}  // namespace aoti_dbg
