// What a recording says about the model of a captured call: its name, its PyTorch, and the sources of its
// kernels.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/replay/launch_files.hpp"
#include "serializer/bundle_manifest.hpp"

namespace aoti_dbg::cli {

struct RecordedModel {
    std::string name;                   // of its file; empty if unknown
    std::string torch;                  // version; empty if unknown
    std::vector<std::string> wrappers;  // paths of sources that may be the model's
};

/// Reads each model of a recording once.
class RecordedModels {
  public:
    /// Opens the models of the recording or bundle that contains the launch. Fails if the bundle's manifest
    /// is damaged.
    static Result<RecordedModels> open(const LaunchFile& launch);

    [[nodiscard]] const RecordedModel& model_of(const LaunchFile& file);
    /// Returns the Triton source of a captured kernel, or an empty text if the recording lacks it.
    [[nodiscard]] Result<std::string> source_of(const LaunchFile& file);

  private:
    [[nodiscard]] const BundledLaunch* bundled(const LaunchRecord& launch) const;

    std::optional<BundleManifest> manifest_;
    std::map<std::uint32_t, RecordedModel> models_;  // by their numbers
};

}  // namespace aoti_dbg::cli
