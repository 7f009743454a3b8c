// What goes into a bundle: the smallest part of a recording with which its launches can be replayed.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "cli/replay/launch_files.hpp"
#include "serializer/bundle_manifest.hpp"

namespace aoti_dbg::cli {

/// A member of the bundle. Its contents are `text`, or the contents of `file` in the recording.
struct BundlePart {
    std::string name;
    std::uint64_t bytes = 0;
    std::string text;
    std::string file;                   // empty if the member is `text`
    std::optional<std::uint64_t> seed;  // set if random contents replace those of the `.pt` file
};

struct BundleContents {
    BundleManifest manifest;
    std::vector<BundlePart> parts;  // all but the manifest
};

/// Returns the contents of a bundle of these launches. Needs at least one launch, all of one recording. Fails
/// if a launch lacks its code or a tensor before it. A redacted bundle has random contents instead of
/// tensors, and no results.
Result<BundleContents> bundle_contents(const std::vector<LaunchFile>& launches, bool is_redacted,
                                       const std::string& created_by);

}  // namespace aoti_dbg::cli
