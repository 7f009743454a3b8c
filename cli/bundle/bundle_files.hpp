// The files of a bundle, a zip archive of uncompressed members. Readers get views into the mapped file.
// Each member's checksum is verified once, when it is first opened.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cli/recording_files.hpp"
#include "serializer/bundle_manifest.hpp"

namespace aoti_dbg::cli {

/// Returns whether a path names a bundle: by its contents, or by its name if they are damaged.
bool is_bundle(const std::string& path);

class BundleFiles final : public RecordingFiles {
  public:
    /// Fails if a newer version wrote the bundle, or if one of its members is missing or has another size.
    static Result<std::shared_ptr<BundleFiles>> open_bundle(const std::string& path);
    /// Reads a bundle from memory. Accepts any bytes. Messages call it `name`.
    static Result<std::shared_ptr<BundleFiles>> read(std::span<const std::byte> bytes,
                                                     std::shared_ptr<const void> owner, std::string name);

    Result<FileContents> open(const std::string& path) override;
    Result<std::vector<std::string>> files_in(const std::string& folder) override;
    [[nodiscard]] std::string archive() const override { return name_; }
    [[nodiscard]] std::string shown(const std::string& path) const override { return path + " in " + name_; }

  private:
    struct Member {
        std::span<const std::byte> bytes;
        std::uint32_t crc = 0;
        bool is_checked = false;
    };
    BundleFiles(std::shared_ptr<const void> owner, std::string name)
        : owner_(std::move(owner)), name_(std::move(name)) {}
    [[nodiscard]] Status check_manifest();
    [[nodiscard]] Status failure(const std::string& why) const {
        return Status::error("cannot read " + name_ + ": " + why);
    }

    std::shared_ptr<const void> owner_;
    std::string name_;
    std::map<std::string, Member, std::less<>> members_;
};

}  // namespace aoti_dbg::cli
