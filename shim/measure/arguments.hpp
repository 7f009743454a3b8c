// The arguments of a call, decoded from its frame: by the letters of shim_table.inc for shim functions, by
// the call site for cpp_fused_* kernels. Follows pointers to handles, never handles themselves.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/wrapper_info.hpp"
#include "shim/bind/shim_table.hpp"
#include "shim/bind/stub_frame.hpp"
#include "shim/measure/shim_api.hpp"

namespace aoti_dbg {

struct CallArgument {
    enum class Kind : std::uint8_t {
        tensor,   // behind `handle`
        pointer,  // to a tensor's elements: `address`
        scalar,   // its value is `text`
    };
    Kind kind = Kind::tensor;
    bool only_after = false;  // the call makes it: there is nothing to look at before
    std::string label;
    TensorHandle handle = nullptr;
    const void* address = nullptr;
    std::string text;
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

/// After a call places of returned tensors are followed, before it they are not. `site` may be null: labels
/// are arg0, arg1, ... by position. Arguments that are absent are left out.
std::vector<CallArgument> shim_arguments(const ShimSignature& shim, const StubFrame& frame,
                                         const CallSite* site, bool after);

/// Of a kernel. Without a site the first `integers` integer arguments, each as a pointer that may be none.
std::vector<CallArgument> kernel_arguments(const StubFrame& frame, const CallSite* site, unsigned integers);

}  // namespace aoti_dbg
