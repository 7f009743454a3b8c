// A copy of a captured launch in memory, whose grid and tensors can become smaller. It has no results, which
// would no longer fit. Its files are laid out as in a bundle.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/replay/launch_files.hpp"
#include "serializer/pt_reader.hpp"

namespace aoti_dbg::cli {

/// The files of a recording in memory.
class MemoryFiles final : public RecordingFiles {
  public:
    Result<FileContents> open(const std::string& path) override;
    Result<std::vector<std::string>> files_in(const std::string& folder) override;
    [[nodiscard]] std::string shown(const std::string& path) const override { return path; }

    void set(const std::string& path, FileContents contents) { files_[path] = std::move(contents); }

  private:
    std::map<std::string, FileContents> files_;
};

class SmallerLaunch {
  public:
    /// Returns an unchanged copy. `code` replaces that of the launch.
    static Result<SmallerLaunch> copy_of(const LaunchFile& file, const std::optional<std::string>& code);

    [[nodiscard]] const LaunchFile& file() const { return file_; }
    void set_grid(const std::array<std::uint32_t, 3>& grid);

    /// Returns the `.pt` file of one of the launch's tensors; nothing if it has no elements.
    [[nodiscard]] const std::optional<FileContents>& contents(std::size_t tensor) const {
        return contents_[tensor];
    }
    void set_contents(std::size_t tensor, FileContents contents);

  private:
    SmallerLaunch() = default;
    Status copy_code(const LaunchFile& from, const std::optional<std::string>& code);
    Status copy_tensors(const LaunchFile& from);
    void write_record();
    void write_index();

    std::shared_ptr<MemoryFiles> files_ = std::make_shared<MemoryFiles>();
    LaunchFile file_;
    // The path of each tensor's file; empty if it has no elements.
    std::vector<std::string> paths_;
    std::vector<std::string> lines_;  // of the index
    std::vector<std::optional<FileContents>> contents_;
};

/// Returns contents in memory.
FileContents in_memory(std::vector<std::byte> bytes);

}  // namespace aoti_dbg::cli
