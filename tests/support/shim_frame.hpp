// A call of a shim function as the thunk lays it out. Handles are plain numbers that are never dereferenced.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "shim/runtime/shim_api.hpp"
#include "shim/runtime/shim_table.hpp"
#include "shim/runtime/stub_frame.hpp"

namespace aoti_dbg::test {

/// A frame with room for stack arguments, filled in the order of a call.
class Frame {
  public:
    Frame& integer(std::uint64_t value) {
        if (integers_ < 6) {
            frame().integers[integers_++] = value;
        } else {
            stack(value);
        }
        return *this;
    }
    Frame& pointer(const void* value) { return integer(reinterpret_cast<std::uint64_t>(value)); }
    Frame& real(double value) {
        if (vectors_ < 8) {
            frame().vectors[vectors_++][0] = value;
        } else {
            stack(__builtin_bit_cast(std::uint64_t, value));
        }
        return *this;
    }
    operator const StubFrame&() { return frame(); }

  private:
    StubFrame& frame() { return *reinterpret_cast<StubFrame*>(words_); }
    void stack(std::uint64_t value) { words_[offsetof(StubFrame, stack_arguments) / 8 + stack_++] = value; }

    alignas(16) std::uint64_t words_[128] = {};
    unsigned integers_ = 0;
    unsigned vectors_ = 0;
    unsigned stack_ = 0;
};

inline TensorHandle handle(std::uintptr_t number) {
    return reinterpret_cast<TensorHandle>(number);
}

/// An op with these arguments and their names, separated by blanks.
inline ShimSignature shim(std::string_view letters, std::string_view names = {}) {
    const auto text = &ShimText::outside;
    return {{text("aoti_torch_cpu_thing"), text("at::_ops::thing::call"), text(letters), text(""),
             ShimKind::op, 0, 0, text(names)}};
}

}  // namespace aoti_dbg::test
