// The system calls that write tensors to disk, as a table. Tests replace it with one that fails on request.
// Each entry returns what its namesake returns and sets errno. Nothing here makes a decision.
#pragma once

#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/types.h>
#include <sys/uio.h>

#include <cstddef>
#include <string>

namespace aoti_dbg {

struct FileCalls {
    int (*open_at)(int folder, const char* name, int flags, mode_t mode);
    int (*make_folder_at)(int folder, const char* name, mode_t mode);
    ssize_t (*write_at)(int file, const iovec* parts, int count, off_t from);
    ssize_t (*append)(int file, const void* text, std::size_t bytes);
    int (*cut)(int file, off_t size);
    int (*close)(int file);  // for files whose close() can report a failed write
    int (*link_at)(int from_folder, const char* from, int to_folder, const char* to, int flags);
    int (*rename_new_at)(int from_folder, const char* from, int to_folder, const char* to);
    int (*rename_at)(int from_folder, const char* from, int to_folder, const char* to);
    int (*unlink_at)(int folder, const char* name, int flags);
    int (*inspect)(int folder, const char* name,
                   struct stat* found);  // follows no link; "" means the descriptor itself
    int (*inspect_disk)(int file, struct statvfs* found);
    ssize_t (*read_at)(int file, void* text, std::size_t bytes, off_t from);
};

/// Returns the calls of the system. Its rename_new_at replaces no existing file.
const FileCalls& system_file_calls();

/// A failed call, or success if the errno is 0.
struct [[nodiscard]] Failed {
    int error = 0;
    const char* doing = "";  // for example "cannot write"
    explicit operator bool() const { return error != 0; }
};

/// Returns a text like "cannot write <path>: no space left on device".
std::string failure_text(const Failed& failed, const std::string& path);

}  // namespace aoti_dbg
