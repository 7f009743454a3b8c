// Excerpts of the sources that models left in evidence/: the wrapper source around the calls, and kernels.
#pragma once

#include <vector>

#include "cli/page/page_data.hpp"
#include "cli/page/read_process.hpp"
#include "cli/page/recorded_folder.hpp"
#include "model/torch_trace.hpp"

namespace aoti_dbg::cli {

/// Also names the package of each model, and adds the origins of its kernels. `trace` may be null.
void read_sources(const RecordedFolder& folder, const std::vector<PageProcessFiles>& processes,
                  const TorchTrace* trace, Page& page);

}  // namespace aoti_dbg::cli
