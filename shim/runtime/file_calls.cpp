#include "shim/runtime/file_calls.hpp"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>

#include "base/file_failure.hpp"

namespace aoti_dbg {
namespace {

int open_at(int folder, const char* name, int flags, mode_t mode) {
    return ::openat(folder, name, flags, mode);
}

int rename_new_at(int from_folder, const char* from, int to_folder, const char* to) {
    constexpr unsigned kNoReplace = 1;  // RENAME_NOREPLACE
    return static_cast<int>(::syscall(SYS_renameat2, from_folder, from, to_folder, to, kNoReplace));
}

int inspect(int folder, const char* name, struct stat* found) {
    return ::fstatat(folder, name, found, AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH);
}

}  // namespace

const FileCalls& system_file_calls() {
    static constexpr FileCalls kCalls = {open_at, ::mkdirat,  ::pwritev,     ::write,    ::ftruncate,
                                         ::close, ::linkat,   rename_new_at, ::renameat, ::unlinkat,
                                         inspect, ::fstatvfs, ::pread};
    return kCalls;
}

std::string failure_text(const Failed& failed, const std::string& path) {
    return file_failure(failed.doing, path, failed.error).message();
}

}  // namespace aoti_dbg
