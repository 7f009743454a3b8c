// The order in which the layouts of one tensor in two programs have its elements.
#pragma once

#include <cstdint>

#include "serializer/measured_event.hpp"

namespace aoti_dbg::compare {

/// The order in which a tensor of a run has the elements of a contiguous one.
enum class Order : std::uint8_t { same, permuted, unknown };

/// `own` is a weight or an input, which a kernel may get as a permuted view.
Order order_of_given(const TensorFacts& own, const TensorFacts& contiguous);

/// `own` is a result that the run wrote in the layout `written`, or null.
Order order_of_result(const TensorFacts& own, const TensorFacts& contiguous, const TensorFacts* written);

}  // namespace aoti_dbg::compare
