// Decodes the arguments of a call from its frame. Shim functions follow the letters of shim_table.inc.
// cpp_fused_* kernels and launches follow the call site. It dereferences pointers to handles but never a
// handle itself.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/plain_list.hpp"
#include "shim/calls/passage.hpp"
#include "shim/runtime/shim_api.hpp"
#include "shim/runtime/shim_table.hpp"
#include "shim/runtime/stub_frame.hpp"
#include "shim/tensors/scalar_text.hpp"
#include "shim/tensors/site_plan.hpp"

namespace aoti_dbg {

struct CallArgument {
    enum class Kind : std::uint8_t {
        tensor,   // tensor behind `handle`
        pointer,  // pointer to a tensor's elements, in `address`
        scalar,   // value, in `value`
    };
    Kind kind = Kind::tensor;
    bool only_after = false;  // created by the call, so it does not exist before
    bool may_write = false;   // the call may write to its memory
    const PlannedArgument* facts = nullptr;
    TensorHandle handle = nullptr;
    std::uint64_t address = 0;
    ScalarValue value;

    static CallArgument of_scalar(const PlannedArgument& facts, const ScalarValue& value);
    static CallArgument of_pointer(const PlannedArgument& facts, std::uint64_t address);
    void set_scalar(const PlannedArgument& its_facts, const ScalarValue& its_value) {
        kind = Kind::scalar;
        facts = &its_facts;
        value = its_value;
    }
    void set_pointer(const PlannedArgument& its_facts, std::uint64_t its_address) {
        kind = Kind::pointer;
        facts = &its_facts;
        may_write = !its_facts.only_reads();
        address = its_address;
    }
};

/// Reads arguments in order, following the System V calling convention.
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

/// True if the source computes the scalar, so that its value is known only at run time.
bool is_symbol(std::string_view text);

/// The functions below append to `found` and skip absent arguments. `plan` may be null; labels are then arg0,
/// arg1, ... by position. The places of returned tensors are read only after the call.
void shim_arguments(const ShimSignature& shim, const StubFrame& frame, const SitePlan* plan, bool after,
                    PlainList<CallArgument>& found);

/// Appends only the tensors that an op may have created, after the op has returned. Their roles say which of
/// them it created.
void created_arguments(const ShimSignature& shim, const StubFrame& frame, const SitePlan& plan,
                       PlainList<CallArgument>& found);

/// Appends the arguments of a cpp kernel. Without a plan, each of the first `integers` integer arguments
/// counts as a pointer that may be null.
void kernel_arguments(const StubFrame& frame, const SitePlan* plan, unsigned integers,
                      PlainList<CallArgument>& found);

/// Appends the arguments of a launch that no source describes. `parameters` has the layout that
/// cuLaunchKernel takes. The byte counts in `sizes` decide which parameters may be pointers.
void unplanned_arguments(void* const* parameters, std::span<const std::uint32_t> sizes,
                         PlainList<CallArgument>& found);

/// Appends the values that a Python wrapper passes. A value without a site's argument is skipped.
void passed_arguments(std::span<const PassedValue> values, const SitePlan& plan,
                      PlainList<CallArgument>& found);

}  // namespace aoti_dbg
