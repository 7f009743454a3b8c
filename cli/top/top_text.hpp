// Renders the times of kernels as a table or as JSON.
#pragma once

#include <cstddef>
#include <string>

#include "cli/top/kernel_times.hpp"

namespace aoti_dbg::cli {

/// Lists at most `most` kernels and counts the rest. Shortens names to fit `columns`, unless that is 0.
std::string top_table(const KernelTimes& times, std::size_t most, std::size_t columns);
/// Follows docs/schema/top.schema.json.
std::string top_json(const KernelTimes& times, std::size_t most);

}  // namespace aoti_dbg::cli
