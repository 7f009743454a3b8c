// Finds the manifest of the bundle that contains a launch.
#pragma once

#include <optional>

#include "cli/replay/launch_files.hpp"
#include "serializer/bundle_manifest.hpp"

namespace aoti_dbg::cli {

/// Returns nothing if the launch is in an output directory. An unpacked bundle has a manifest, too.
Result<std::optional<BundleManifest>> manifest_of(const LaunchFile& file);

}  // namespace aoti_dbg::cli
