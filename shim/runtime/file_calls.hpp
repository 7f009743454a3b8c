// The system calls by which tensors come to disk, as a table: tests put one in its place that fails when it
// is to. Each returns what its namesake does and leaves errno. Nothing here decides anything.
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
    int (*close)(int file);  // where its result tells of writes that failed
    int (*link_at)(int from_folder, const char* from, int to_folder, const char* to, int flags);
    int (*rename_new_at)(int from_folder, const char* from, int to_folder, const char* to);
    int (*rename_at)(int from_folder, const char* from, int to_folder, const char* to);
    int (*unlink_at)(int folder, const char* name, int flags);
    int (*inspect)(int folder, const char* name, struct stat* found);  // follows no link; "": the descriptor
    int (*inspect_disk)(int file, struct statvfs* found);
    ssize_t (*read_at)(int file, void* text, std::size_t bytes, off_t from);
};

/// Those of the system. rename_new_at does not replace what is there.
const FileCalls& system_file_calls();

/// What failed; an errno of 0: nothing did.
struct [[nodiscard]] Failed {
    int error = 0;
    const char* doing = "";  // "cannot write"
    explicit operator bool() const { return error != 0; }
};

/// "cannot write <path>: no space left on device"
std::string failure_text(const Failed& failed, const std::string& path);

}  // namespace aoti_dbg
