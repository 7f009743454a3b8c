// Finds and reads the files that belong to a model's .so. Reads only regular files of bounded size and
// number. Never blocks on a pipe and leaves nothing open in a child.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace aoti_dbg {

/// Larger files are skipped. The largest wrapper sources seen have a few megabytes.
inline constexpr std::size_t kLargestFile = std::size_t{64} << 20U;

struct PackageFiles {
    std::string wrapper_source;               // X.wrapper.cpp for X.wrapper.so, may not exist
    std::vector<std::string> kernel_sources;  // *.kernel.cpp beside it
    std::vector<std::string> extern_nodes;    // candidates, the more likely one first
};

/// `kernel_sources` is empty if there is no wrapper source and several models, or all programs, share the
/// folder. They cannot be assigned then.
PackageFiles find_package_files(const std::string& so_path);

/// Replaces `text` by the contents. Returns false and clears `text` if the file is not regular, too large or
/// unreadable.
bool read_file(const std::string& path, std::string& text);

}  // namespace aoti_dbg
