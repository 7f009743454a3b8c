// A tensor in the text of PyTorch's own debug printer, line for line, with two lines of ours: the standard
// deviation, and how many NaN and Inf there are where there are any. Computes nothing.
#pragma once

#include <string>
#include <string_view>

#include "shim/measure/tensor_info.hpp"
#include "stats_kernels/statistics.hpp"

namespace aoti_dbg {

/// PyTorch prints the values of tensors that have no more elements than this.
inline constexpr std::uint64_t kMostPrintedValues = 64;

/// `title` is "before_launch - kernel - buf0". `statistics` is null where the tensor was not measured.
std::string tensor_text(std::string_view title, const TensorInfo& info, const TensorStatistics* statistics);

/// "[  before_launch - kernel - s77: 8  ]"
std::string scalar_line(std::string_view title, std::string_view value);

/// The values as at::print writes them; the tensor can be read. Nothing for complex ones.
std::string values_text(const TensorInfo& info);

}  // namespace aoti_dbg
