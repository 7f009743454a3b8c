// A file that is written through mappings of parts that are already allocated on disk. A full disk is
// therefore an error when the file grows, and never a SIGBUS in the program. No descriptor stays open,
// because programs close descriptors they do not know. Each step opens the path again and checks that it is
// still the same file.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>

#include "base/status.hpp"

namespace aoti_dbg {

inline constexpr std::size_t kPageBytes = 4096;

/// Returns the smallest valid growth of such a file that holds `bytes` bytes.
constexpr std::size_t whole_pages(std::size_t bytes) {
    return (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
}

class PreallocatedFile {
  public:
    /// Creates a new file (0600) at `path`, or at the first free name of path.2, path.3 and so on. Never
    /// overwrites a file, even if processes race. `path` should be absolute.
    static Result<PreallocatedFile> create(const std::string& path);
    /// Also adds a first part as extend() does, and sets `mapped` to it. If there is no room for the part, no
    /// file remains.
    static Result<PreallocatedFile> create(const std::string& path, std::size_t bytes, char*& mapped);

    /// Extends the file by `bytes` (a multiple of 4096, see whole_pages) of zeros or of `fill`. Maps the new
    /// part shared and writable, but not into forked children.
    ///
    /// A filled part will be written from end to end, so its pages are populated at once. The caller passes
    /// the part to unmap().
    Result<char*> extend(std::size_t bytes, char fill = '\0');
    static void unmap(char* part, std::size_t bytes);

    /// Writes all of `data` at the end of the file, or nothing.
    Status append(const char* data, std::size_t bytes);

    /// Truncates the file. Do not access mapped parts beyond `size` afterwards.
    Status truncate(std::size_t size);

    [[nodiscard]] const std::string& path() const { return path_; }
    [[nodiscard]] std::size_t size() const { return size_; }

  private:
    [[nodiscard]] int reopen() const;
    /// Returns a descriptor of the file, which may grow by `bytes`. The caller closes it.
    [[nodiscard]] Result<int> open_to_extend(std::size_t bytes) const;

    std::string path_;
    std::size_t size_ = 0;
    dev_t device_ = 0;
    ino_t inode_ = 0;
};

}  // namespace aoti_dbg
