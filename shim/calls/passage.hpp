// A call on its way through the library, and what its tensors are requested for.
#pragma once

#include <cstdint>
#include <vector>

#include "config/options.hpp"
#include "shim/runtime/stub_frame.hpp"

namespace aoti_dbg {

struct Slot;
}  // namespace aoti_dbg

struct CUlaunchConfig_st;  // of cuda.h

namespace aoti_dbg {

/// A value that Python passes: a tensor, a number, or something else.
struct PassedValue {
    enum class Kind : std::uint8_t { other, tensor, integer, real };
    Kind kind = Kind::other;
    const void* tensor = nullptr;  // AtenTensorHandle
    std::int64_t integer = 0;
    double real = 0;
};

/// The values of one call of a Python wrapper, in the order of its site's arguments; or the inputs or outputs
/// of a run.
struct PassedValues {
    std::uint32_t site = ~std::uint32_t{0};
    std::vector<PassedValue> values;
    bool is_interrupted = false;  // an exception unwound the call that is no error, such as KeyboardInterrupt
};

/// How a call came in. A stub has a frame that exists until the call ends. A driver hook has a kernel's
/// parameters. A Python wrapper passes values.
struct Passage {
    const Slot* slot = nullptr;
    const StubFrame* frame = nullptr;
    const void* function = nullptr;
    void* const* parameters = nullptr;
    const CUlaunchConfig_st* shape = nullptr;  // of a launch
    bool is_cooperative = false;
    bool is_serialized = false;  // could overlap its predecessor, if no completion marker came between them
    const PassedValues* values = nullptr;
    /// True for a run whose inputs and outputs are known.
    [[nodiscard]] bool has_ends() const { return frame != nullptr || values != nullptr; }
    [[nodiscard]] bool any() const { return slot != nullptr || parameters != nullptr || values != nullptr; }
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
