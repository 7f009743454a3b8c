// A file that is written through mappings of parts that already have their blocks on disk: a full disk shows
// when the file is extended, as an error, and never as a SIGBUS in the program. No descriptor stays open
// (programs close what they do not know); each step opens the path again and checks that it is still the same
// file.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>

#include "base/status.hpp"

namespace aoti_dbg {

/// The least that such a file can grow by for so many bytes.
constexpr std::size_t whole_pages(std::size_t bytes) {
    constexpr std::size_t kPage = 4096;
    return (bytes + kPage - 1) / kPage * kPage;
}

class PreallocatedFile {
  public:
    /// Makes a new file, 0600, under `path` or, where something is there, the first free of path.2, path.3
    /// and so on; nothing is ever overwritten, also when processes race. `path` should be absolute.
    static Result<PreallocatedFile> create(const std::string& path);
    /// The same with its first part, as extend() makes it, which `mapped` gets. Where there is no room for
    /// that no file is left.
    static Result<PreallocatedFile> create(const std::string& path, std::size_t bytes, char*& mapped);

    /// Makes the file longer by `bytes` (a multiple of 4096: whole_pages), of zeros or of `fill`, and maps
    /// the new part, shared and writable, out of reach of a fork's child. What is filled is to be written
    /// from end to end, so its pages are there at once. The caller gives it to unmap().
    Result<char*> extend(std::size_t bytes, char fill = '\0');
    static void unmap(char* part, std::size_t bytes);

    /// Writes behind the end: all of it, or nothing.
    Status append(const char* data, std::size_t bytes);

    /// Cuts the file. What is mapped beyond `size` must not be touched any more.
    Status truncate(std::size_t size);

    [[nodiscard]] const std::string& path() const { return path_; }
    [[nodiscard]] std::size_t size() const { return size_; }

  private:
    [[nodiscard]] int reopen() const;
    /// Ready to grow by so much; the caller closes it.
    [[nodiscard]] Result<int> open_to_extend(std::size_t bytes) const;

    std::string path_;
    std::size_t size_ = 0;
    dev_t device_ = 0;
    ino_t inode_ = 0;
};

}  // namespace aoti_dbg
