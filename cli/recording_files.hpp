// The files of a recording, which is a folder or a bundle (cli/bundle/bundle_files.hpp). Readers take paths
// from here and pass them back, and need not know which of the two it is.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"

namespace aoti_dbg::cli {

struct FileContents {
    std::span<const std::byte> bytes;
    std::shared_ptr<const void> owner;
    bool is_checked = false;  // a checksum of all bytes was verified

    [[nodiscard]] std::string_view text() const {
        return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
    }
};

class RecordingFiles {
  public:
    RecordingFiles() = default;
    virtual ~RecordingFiles() = default;
    RecordingFiles(const RecordingFiles&) = delete;
    RecordingFiles& operator=(const RecordingFiles&) = delete;

    /// Maps a file. The contents live as long as their owner.
    virtual Result<FileContents> open(const std::string& path) = 0;
    /// Returns the paths of the files in a folder, in no order.
    virtual Result<std::vector<std::string>> files_in(const std::string& folder) = 0;
    /// Returns the path of the archive; empty for a folder.
    [[nodiscard]] virtual std::string archive() const { return {}; }
    /// Returns the name of a file for messages.
    [[nodiscard]] virtual std::string shown(const std::string& path) const = 0;
};

/// Takes paths of the file system.
class FolderFiles final : public RecordingFiles {
  public:
    Result<FileContents> open(const std::string& path) override;
    Result<std::vector<std::string>> files_in(const std::string& folder) override;
    [[nodiscard]] std::string shown(const std::string& path) const override { return path; }
};

}  // namespace aoti_dbg::cli
