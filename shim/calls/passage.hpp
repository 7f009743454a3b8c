// A call on its way through the library, and what its tensors are requested for.
#pragma once

#include <cstdint>

#include "config/options.hpp"
#include "shim/runtime/stub_frame.hpp"

namespace aoti_dbg {

struct Slot;

/// How a call came in. A stub has a frame that exists until the call ends. A driver hook has a kernel's
/// parameters.
struct Passage {
    const Slot* slot = nullptr;
    const StubFrame* frame = nullptr;
    const void* function = nullptr;
    void* const* parameters = nullptr;
    bool is_serialized = false;  // could overlap its predecessor, if no completion marker came between them
    [[nodiscard]] bool any() const { return slot != nullptr || parameters != nullptr; }
};

enum class When : std::uint8_t { before, after };

/// What to do with the tensors before or after a call.
struct TensorRequest {
    bool printed = false;
    Check check = {};
    bool saved = false;
    bool named = false;  // its name was printed; otherwise the name replaces tensors that cannot be measured
    [[nodiscard]] bool measured() const { return printed || check.values(); }
    [[nodiscard]] bool any() const { return measured() || saved; }
};

}  // namespace aoti_dbg
