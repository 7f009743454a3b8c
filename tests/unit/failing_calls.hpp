// Makes the n-th of the chosen system calls fail, in one thread at a time.
#pragma once

#include <cerrno>
#include <cstdint>

#include "shim/runtime/file_calls.hpp"

namespace aoti_dbg::test {

enum Calls : unsigned {
    kOpen = 1,
    kMakeFolder = 2,
    kWrite = 4,
    kAppend = 8,
    kCut = 16,
    kClose = 32,
    kLink = 64,
    kRename = 128,
    kUnlink = 256,
    kLook = 512,
    kInspectDisk = 1024,
    kRead = 2048,
    kAllCalls = 4095,
};

struct Fault {
    unsigned which = 0;    // of Calls
    std::uint64_t at = 0;  // number of the call that fails, from 1; 0: none
    bool stays = false;    // all later ones fail too
    int error = 0;
    bool no_unnamed_files = false;  // a file system without O_TMPFILE
    bool no_links = false;          // one without links
    bool no_exclusive_rename = false;
    bool writes_by_halves = false;

    std::uint64_t seen = 0;
    std::uint64_t failed = 0;
};

inline Fault g_fault;

inline bool fails(unsigned call) {
    if ((g_fault.which & call) == 0) return false;
    ++g_fault.seen;
    const bool now =
        g_fault.at != 0 && (g_fault.seen == g_fault.at || (g_fault.stays && g_fault.seen > g_fault.at));
    if (!now) return false;
    ++g_fault.failed;
    errno = g_fault.error;
    return true;
}

inline int refused(int error) {
    errno = error;
    return -1;
}

inline const FileCalls& failing_calls() {
    static const FileCalls& real = system_file_calls();
    static const FileCalls calls = {
        [](int folder, const char* name, int flags, mode_t mode) {
            constexpr int kUnnamed = 020000000;  // __O_TMPFILE
            if (fails(kOpen)) return -1;
            if (g_fault.no_unnamed_files && (flags & kUnnamed) != 0) return refused(EOPNOTSUPP);
            return real.open_at(folder, name, flags, mode);
        },
        [](int folder, const char* name, mode_t mode) {
            return fails(kMakeFolder) ? -1 : real.make_folder_at(folder, name, mode);
        },
        [](int file, const iovec* parts, int count, off_t from) -> ssize_t {
            if (fails(kWrite)) return -1;
            if (!g_fault.writes_by_halves || parts->iov_len < 2)
                return real.write_at(file, parts, count, from);
            const iovec half = {parts->iov_base, parts->iov_len / 2};
            return real.write_at(file, &half, 1, from);
        },
        [](int file, const void* text, std::size_t bytes) -> ssize_t {
            if (!fails(kAppend)) return real.append(file, text, bytes);
            // Like a full disk: writes a part and then fails.
            return g_fault.error == ENOSPC ? real.append(file, text, bytes / 2) : -1;
        },
        [](int file, off_t size) { return fails(kCut) ? -1 : real.cut(file, size); },
        [](int file) {
            const bool now = fails(kClose);
            const int closed = real.close(file);
            return now ? refused(g_fault.error) : closed;
        },
        [](int from_folder, const char* from, int to_folder, const char* to, int flags) {
            if (fails(kLink)) return -1;
            if (g_fault.no_links) return refused(EPERM);
            return real.link_at(from_folder, from, to_folder, to, flags);
        },
        [](int from_folder, const char* from, int to_folder, const char* to) {
            if (fails(kRename)) return -1;
            if (g_fault.no_exclusive_rename) return refused(EINVAL);
            return real.rename_new_at(from_folder, from, to_folder, to);
        },
        [](int from_folder, const char* from, int to_folder, const char* to) {
            return fails(kRename) ? -1 : real.rename_at(from_folder, from, to_folder, to);
        },
        [](int folder, const char* name, int flags) {
            return fails(kUnlink) ? -1 : real.unlink_at(folder, name, flags);
        },
        [](int folder, const char* name, struct stat* found) {
            return fails(kLook) ? -1 : real.inspect(folder, name, found);
        },
        [](int file, struct statvfs* found) {
            return fails(kInspectDisk) ? -1 : real.inspect_disk(file, found);
        },
        [](int file, void* text, std::size_t bytes, off_t from) -> ssize_t {
            return fails(kRead) ? -1 : real.read_at(file, text, bytes, from);
        },
    };
    return calls;
}

}  // namespace aoti_dbg::test
