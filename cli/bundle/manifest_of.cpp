#include "cli/bundle/manifest_of.hpp"

#include <filesystem>

namespace aoti_dbg::cli {

Result<std::optional<BundleManifest>> manifest_of(const LaunchFile& file) {
    const std::filesystem::path beside = std::filesystem::path(file.events).parent_path();
    const std::string path = (beside / kManifestName).string();
    const Result<FileContents> contents = file.files->open(path);
    // Another program's file may have this name.
    if (!contents.ok() || contents.value().text().find(kBundleFormat) == std::string_view::npos)
        return std::optional<BundleManifest>();
    Result<BundleManifest> manifest = read_manifest(contents.value().text());
    if (!manifest.ok())
        return Status::error("cannot read " + file.files->shown(path) + ": " + manifest.status().message());
    return std::optional(std::move(manifest.value()));
}

}  // namespace aoti_dbg::cli
