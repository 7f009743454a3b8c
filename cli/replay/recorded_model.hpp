// What a recording says about the model of a captured call: its name, its PyTorch, and the sources of its
// kernels.
#pragma once

#include <string>
#include <vector>

#include "cli/replay/launch_files.hpp"

namespace aoti_dbg::cli {

struct RecordedModel {
    std::string name;                   // of its file; empty if unknown
    std::string torch;                  // version; empty if unknown
    std::vector<std::string> wrappers;  // paths of sources that may be the model's
};

RecordedModel model_of(const LaunchFile& file);

/// Returns the Triton source of the captured kernel, or an empty text if the recording lacks it.
std::string triton_source(const RecordedModel& model, const LaunchRecord& launch);

}  // namespace aoti_dbg::cli
