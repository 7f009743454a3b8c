#include "base/private_folder.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "base/descriptor.hpp"
#include "base/file_failure.hpp"

namespace aoti_dbg {
namespace {

constexpr int kDeepest = 8;

/// Returns `path` or its nearest ancestor that exists.
std::string existing_part(std::string path) {
    struct stat info {};
    while (path.size() > 1 && stat(path.c_str(), &info) != 0) {
        const std::size_t slash = path.rfind('/');
        if (slash == std::string::npos) return ".";
        path.resize(std::max<std::size_t>(slash, 1));
    }
    return path;
}

/// Creates a file without a name in `folder`. Returns -1 and sets errno on failure.
int nameless_file(const std::string& folder) {
    const int file = open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    // Not every file system and kernel supports O_TMPFILE.
    if (file >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)) return file;
    std::string path = folder + "/.aoti-dbg-room-XXXXXX";
    const int named = mkostemp(path.data(), O_CLOEXEC);
    if (named >= 0) unlink(path.c_str());
    return named;
}

/// Returns 0, or the errno value that says why there is no room.
int room_error(int file, std::size_t bytes) {
    // Beyond this limit the kernel would send SIGXFSZ. The limit is the same for every directory.
    rlimit limit{};
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0) bytes = std::min<std::size_t>(bytes, limit.rlim_cur);
    if (bytes == 0) return 0;
    int result = 0;
    do {
        result = fallocate(file, 0, 0, static_cast<off_t>(bytes));
    } while (result != 0 && errno == EINTR);
    if (result == 0) return 0;
    if (errno != EOPNOTSUPP && errno != ENOSYS) return errno;
    struct statvfs disk {};
    const bool is_known = fstatvfs(file, &disk) == 0 && disk.f_blocks != 0;
    return is_known && disk.f_bavail * disk.f_frsize < bytes ? ENOSPC : 0;
}

/// Returns whether other users cannot replace an entry of the directory. If they may write to it, it must be
/// sticky, so that they cannot rename our entry.
bool is_safe_parent(const std::string& folder) {
    struct stat info {};
    if (folder.empty() || folder.front() != '/' || stat(folder.c_str(), &info) != 0) return false;
    const bool others_write = (info.st_mode & (S_IWGRP | S_IWOTH)) != 0;
    return S_ISDIR(info.st_mode) && (!others_write || (info.st_mode & S_ISVTX) != 0);
}

/// Returns an empty path on failure and sets errno.
std::string folder_below(const std::string& parent, std::size_t bytes) {
    if (!is_safe_parent(parent) || !has_room(parent, bytes).ok()) return {};
    std::string path = parent + (parent.back() == '/' ? "" : "/") + "aoti_dbg-XXXXXX";
    return mkdtemp(path.data()) == nullptr ? std::string() : path;
}

/// The layout of getdents64. readdir() would allocate.
struct Entry {
    std::uint64_t inode;
    std::int64_t next;
    std::uint16_t bytes;
    std::uint8_t type;
    char name[1];
};

void empty_folder(int folder, int depth) {
    alignas(Entry) char entries[2048];
    // Removing entries during a listing may hide other entries, so the loop lists again until nothing is
    // removed.
    for (bool has_removed = true; has_removed;) {
        has_removed = false;
        lseek(folder, 0, SEEK_SET);
        for (long got = 0; (got = syscall(SYS_getdents64, folder, entries, sizeof entries)) > 0;) {
            for (long at = 0; at < got;) {
                const auto* const entry = reinterpret_cast<const Entry*>(entries + at);
                at += entry->bytes;
                if (strcmp(entry->name, ".") == 0 || strcmp(entry->name, "..") == 0) continue;
                if (unlinkat(folder, entry->name, 0) == 0) {
                    has_removed = true;
                    continue;
                }
                if (depth == kDeepest) continue;
                const int inner =
                    openat(folder, entry->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
                if (inner < 0) continue;
                empty_folder(inner, depth + 1);
                close(inner);
                has_removed |= unlinkat(folder, entry->name, AT_REMOVEDIR) == 0;
            }
        }
    }
}

}  // namespace

Status has_room(const std::string& path, std::size_t bytes) {
    const std::string folder = existing_part(path);
    const Descriptor file(nameless_file(folder));
    const int error = file.number() < 0 ? errno : room_error(file.number(), bytes);
    if (error == 0) return {};
    return file_failure(folder == path ? "cannot write to directory" : "cannot create directory", path,
                        error);
}

Result<std::string> make_private_folder(std::size_t bytes, std::size_t least) {
    const char* const chosen = getenv("TMPDIR");
    for (const std::size_t requested : {bytes, least})
        for (const char* parent : {chosen == nullptr ? "" : chosen, "/dev/shm", "/tmp"})
            if (std::string path = folder_below(parent, requested); !path.empty()) return path;
    return Status::error("cannot create a private directory in $TMPDIR, /dev/shm or /tmp");
}

void remove_private_folder(const char* path) {
    const int folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder < 0) return;
    empty_folder(folder, 0);
    close(folder);
    rmdir(path);
}

}  // namespace aoti_dbg
