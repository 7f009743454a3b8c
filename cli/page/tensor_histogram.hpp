// The statistics of a saved tensor, and how often its numbers fall into each of a few bins.
#pragma once

#include <optional>
#include <string>

#include "cli/page/page_data.hpp"
#include "stats_kernels/statistics.hpp"

namespace aoti_dbg::cli {

struct FileNumbers {
    TensorStatistics statistics;
    PageHistogram histogram;  // without counts if the finite numbers are all equal
};

/// Returns nothing if the file is not a tensor, or has too many elements.
std::optional<FileNumbers> numbers_in(const std::string& path);

}  // namespace aoti_dbg::cli
