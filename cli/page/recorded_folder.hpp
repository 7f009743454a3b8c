// The files below an output folder that a page is about. It follows no links, so nothing outside of the
// folder gets into the page.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"

namespace aoti_dbg::cli {

class RecordedFolder {
  public:
    /// Fails if there is no such folder.
    static Result<RecordedFolder> open(const std::string& place);

    /// Returns the path of the folder, without links.
    [[nodiscard]] const std::string& path() const { return path_; }
    /// Returns true for a plain file in or below the folder that is reached without a link.
    [[nodiscard]] bool has(const std::string& path) const;
    /// Returns the files with the start and end of the name, in order, at most a few folders deep.
    [[nodiscard]] std::vector<std::string> files(std::string_view begin, std::string_view end) const;

  private:
    explicit RecordedFolder(std::string path) : path_(std::move(path)) {}

    std::string path_;
};

/// What the first line of a file of JSON lines says.
struct LinesHeader {
    std::uint32_t pid = 0;
    std::uint64_t start_ns = 0;
};
LinesHeader header_of(const std::string& path);

/// Returns the text of a small file, and nothing for a larger or unreadable one.
std::optional<std::string> small_file(const std::string& path, std::size_t most);

}  // namespace aoti_dbg::cli
