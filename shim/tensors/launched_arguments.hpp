// The arguments of a launch at one call site. Where each one is, and how its bytes read, follows from the
// source, so it is found once and each launch only reads values.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/plain_list.hpp"
#include "shim/tensors/scalar_text.hpp"

namespace aoti_dbg {

struct CallArgument;
struct PlannedArgument;

struct LaunchedArgument {
    /// How to read the parameter. The types are those of a Triton signature.
    enum class Reading : std::uint8_t { pointer, i64, u64, i32, u32, i16, i8, i1, f32, f64, literal };
    const PlannedArgument* facts = nullptr;
    Reading reading = Reading::literal;
    std::uint32_t parameter = 0;  // its index in the launch; a literal is not read
    ScalarValue literal;
};

/// Returns the arguments in the order of the source, with all numbers, as PyTorch prints them. `launched`
/// maps each parameter of the launch to an argument (TritonKernelInfo::launched).
std::vector<LaunchedArgument> plan_launch(const std::vector<std::vector<const PlannedArgument*>>& by_position,
                                          std::span<const std::uint32_t> launched);

/// Appends the arguments of a launch. `parameters` has the layout that cuLaunchKernel takes.
void launch_arguments(void* const* parameters, std::span<const LaunchedArgument> planned,
                      PlainList<CallArgument>& found);

}  // namespace aoti_dbg
