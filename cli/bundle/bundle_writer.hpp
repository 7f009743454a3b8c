// Writes a bundle as a zip archive of stored members. docs/reference/bundles.md documents it.
#pragma once

#include <cstdint>
#include <string>

#include "cli/bundle/bundle_contents.hpp"

namespace aoti_dbg::cli {

/// Writes PATH.part and renames it. Replaces no file, and leaves nothing behind if it fails. Returns the
/// bytes of the bundle.
Result<std::uint64_t> write_bundle(const std::string& path, const BundleContents& contents,
                                   RecordingFiles& files);

}  // namespace aoti_dbg::cli
