// Renders the times of kernels as a table or as JSON.
#pragma once

#include <cstddef>
#include <string>

#include "cli/top/kernel_times.hpp"

namespace aoti_dbg::cli {

/// At most `most` kernels, the rest in one line. Names are shortened to fit `columns`; 0 does not shorten.
std::string top_table(const KernelTimes& times, std::size_t most, std::size_t columns);
/// docs/schema/top.schema.json
std::string top_json(const KernelTimes& times, std::size_t most);

}  // namespace aoti_dbg::cli
