// Which files belong to a model's .so, and their contents. Reads only: regular files, bounded in size and
// number, never blocking on a pipe, nothing left open in a child.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace aoti_dbg {

/// Larger files are not read: the biggest wrapper sources seen are a few megabytes.
inline constexpr std::size_t kLargestFile = std::size_t{64} << 20U;

struct PackageFiles {
    std::string wrapper_source;               // X.wrapper.cpp for X.wrapper.so; it may not exist
    std::vector<std::string> kernel_sources;  // *.kernel.cpp beside it
    std::vector<std::string> extern_nodes;    // candidates, the likelier one first
};

/// `kernel_sources` is empty where several models without wrapper source share the folder: they cannot be
/// told apart.
PackageFiles find_package_files(const std::string& so_path);

/// Replaces `text` with the contents; false (and `text` empty) for what is no regular file, too large or
/// unreadable.
bool read_file(const std::string& path, std::string& text);

}  // namespace aoti_dbg
