// The manifest of a bundle that a launch is from.
#pragma once

#include <optional>

#include "cli/replay/launch_files.hpp"
#include "serializer/bundle_manifest.hpp"

namespace aoti_dbg::cli {

/// Returns nothing if the launch is from an output directory. An unpacked bundle also has its manifest.
Result<std::optional<BundleManifest>> manifest_of(const LaunchFile& file);

}  // namespace aoti_dbg::cli
