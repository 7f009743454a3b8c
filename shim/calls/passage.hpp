// A call on its way through the library, and what its tensors are wanted for.
#pragma once

#include <cstdint>
#include <memory>

#include "config/options.hpp"
#include "shim/runtime/stub_frame.hpp"

namespace aoti_dbg {

struct Slot;

/// Of one thread: the pointers that its model asked for lately, and where its runs are.
struct MeasuringThread;
struct DropMeasuringThread {
    void operator()(MeasuringThread* state) const;
};
using MeasuringThreadPtr = std::unique_ptr<MeasuringThread, DropMeasuringThread>;

/// A call as it came: through a stub, with a frame that stands until the call is over, or through a hook of
/// the driver, with a kernel's parameters.
struct Passage {
    const Slot* slot = nullptr;
    const StubFrame* frame = nullptr;
    const void* function = nullptr;
    void* const* parameters = nullptr;
    [[nodiscard]] bool any() const { return slot != nullptr || parameters != nullptr; }
};

enum class When : std::uint8_t { before, after };

/// What is to be done with the tensors of one side of a call.
struct TensorRequest {
    bool printed = false;
    Check check = {};
    bool saved = false;
    bool named = false;  // its name was printed; else that stands in for what cannot be done
    [[nodiscard]] bool measured() const { return printed || check.values(); }
    [[nodiscard]] bool any() const { return measured() || saved; }
};

}  // namespace aoti_dbg
