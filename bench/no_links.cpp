// Preloaded before the library: a file system on which no file can have a second name, which makes level 1
// write every tensor. A name for a file that has none yet is given as ever. Knows nothing of the library.
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

extern "C" int linkat(int from, const char* path, int to, const char* name, int flags) noexcept {
    if (flags == 0) {
        errno = EMLINK;
        return -1;
    }
    return static_cast<int>(syscall(SYS_linkat, from, path, to, name, flags));
}
